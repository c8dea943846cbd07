import NIOCore
import NIOHTTP2

/// The HTTP/2 stream of a request, for faults that end it or its connection.
struct RequestStream: Sendable {
    let stream: any Channel
    let connection: any Channel

    /// Ends the stream with RST_STREAM (RFC 9113, section 6.4).
    func reset(_ code: StreamResetCode) async {
        guard let id = try? await stream.getOption(HTTP2StreamChannelOptions.streamID).get() else {
            return
        }
        let reason = HTTP2ErrorCode(networkCode: code.number)
        let frame = HTTP2Frame(streamID: id, payload: .rstStream(reason))
        try? await connection.writeAndFlush(frame).get()
    }

    /// Says with GOAWAY (RFC 9113, section 6.8) that this request was not processed, and closes.
    func refuseWithGoAway() async {
        guard let id = try? await stream.getOption(HTTP2StreamChannelOptions.streamID).get() else {
            return
        }
        // A client numbers its streams 1, 3, 5 and so on.
        let last = HTTP2StreamID(max(0, Int(id) - 2))
        let frame = HTTP2Frame(
            streamID: .rootStream,
            payload: .goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil))
        try? await connection.writeAndFlush(frame).get()
        connection.close(promise: nil)
    }

    /// Announces the end of the connection with GOAWAY; what is in flight is still answered.
    func announceGoAway() {
        connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }
}
