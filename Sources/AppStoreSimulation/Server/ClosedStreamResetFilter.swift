import NIOCore

/// Drops resets of HTTP/2 streams that are closed already, before the server counts them.
///
/// Added 2026-11-21: libcurl 7.88 (Debian 12) ends every finished stream with RST_STREAM and the code
/// STREAM_CLOSED. swift-nio-http2 closes a connection with ENHANCE_YOUR_CALM after 200 resets in
/// thirty seconds, and Hummingbird 2.28 offers no setting for that, while the App Store is used by
/// such clients every day. To be removed when Hummingbird lets the limit be set.
final class ClosedStreamResetFilter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private static let headerBytes = 9
    /// A whole RST_STREAM frame (RFC 9113, section 6.4).
    private static let resetBytes = 13
    private static let resetType: UInt8 = 3
    /// RFC 9113, section 7.
    private static let streamClosedCode: UInt8 = 5

    private enum Mode {
        case undecided, frames, other
    }

    private var mode = Mode.undecided
    /// Bytes of an incomplete frame header.
    private var held = ByteBuffer()
    /// Bytes of the present frame that have not arrived yet.
    private var remaining = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard mode != .other else { return context.fireChannelRead(data) }
        var input = unwrapInboundIn(data)
        if held.readableBytes > 0 {
            held.writeBuffer(&input)
            input = held
            held = ByteBuffer()
        }
        var output = context.channel.allocator.buffer(capacity: input.readableBytes)
        filter(&input, into: &output)
        held = input
        if output.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(output)) }
    }

    /// Moves what may pass to `output`; the rest stays in `input` until more bytes arrive.
    private func filter(_ input: inout ByteBuffer, into output: inout ByteBuffer) {
        if mode == .undecided {
            let start = Array(input.readableBytesView.prefix(Self.preface.count))
            guard Self.preface.starts(with: start) else {
                mode = .other
                output.writeBuffer(&input)
                return
            }
            guard start.count == Self.preface.count else { return }
            mode = .frames
            remaining = Self.preface.count
        }
        while input.readableBytes > 0 {
            if remaining == 0 {
                guard input.readableBytes >= Self.headerBytes else { return }
                let start = Array(input.readableBytesView.prefix(Self.resetBytes))
                if start[3] == Self.resetType {
                    guard start.count == Self.resetBytes else { return }
                    guard start[9...] != [0, 0, 0, Self.streamClosedCode] else {
                        input.moveReaderIndex(forwardBy: Self.resetBytes)
                        continue
                    }
                }
                let length = Int(start[0]) << 16 | Int(start[1]) << 8 | Int(start[2])
                remaining = Self.headerBytes + length
            }
            let count = min(remaining, input.readableBytes)
            guard var slice = input.readSlice(length: count) else { return }
            output.writeBuffer(&slice)
            remaining -= count
        }
    }
}
