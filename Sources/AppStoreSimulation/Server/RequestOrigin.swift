import Hummingbird
import NIOCore
import NIOHTTP2

/// The connection that a request came over, and its protocol.
struct RequestOrigin: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// One value per TCP connection.
    let connection: String
    let protocolName: String
    /// `nil` over HTTP/1.1.
    let stream: RequestStream?
    /// Closes the TCP connection, with all its other requests.
    let closeConnection: @Sendable () -> Void

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        // An HTTP/2 stream is a child channel of the connection's channel, which is a child of the
        // listening channel.
        let channel = source.channel
        if let parent = channel.parent, parent.parent != nil {
            connection = Self.name(of: parent)
            closeConnection = { parent.close(promise: nil) }
            stream = RequestStream(stream: channel, connection: parent)
            protocolName = "HTTP/2"
        } else {
            connection = Self.name(of: channel)
            closeConnection = { channel.close(promise: nil) }
            stream = nil
            protocolName = "HTTP/1.1"
        }
    }

    /// The object's identity and the client's address: the identity alone is reused after a connection
    /// ends.
    private static func name(of connection: any Channel) -> String {
        let client = connection.remoteAddress.map(\.description) ?? ""
        return "\(ObjectIdentifier(connection)) \(client)"
    }

    /// Closes the connection over HTTP/1.1; an HTTP/2 stream needs nothing.
    var endBody: @Sendable () -> Void {
        guard stream == nil else { return {} }
        return closeConnection
    }

    /// Applies the part of a transport fault that precedes the answer.
    func apply(_ transport: APIGateway.Transport) async {
        switch transport {
        case .dropConnection: closeConnection()
        case .goAway(isProcessed: true): stream?.announceGoAway()
        case .goAway(isProcessed: false):
            if let stream { await stream.refuseWithGoAway() } else { closeConnection() }
        case .resetStream(let code):
            if let stream { await stream.reset(code) } else { closeConnection() }
        case .whole, .reset, .drip, .endless, .wrongLength: break
        }
    }
}

/// The HTTP/2 stream of a request, for faults that end the stream or its connection.
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

    /// Sends GOAWAY (RFC 9113, section 6.8), which says that this request was not processed, and closes.
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

    /// Sends GOAWAY; requests in flight are still answered.
    func announceGoAway() {
        connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }
}
