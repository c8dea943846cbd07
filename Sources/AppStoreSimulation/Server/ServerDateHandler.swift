import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Makes the `Date` of answers show the server's clock, where that differs from the real time.
final class ServerDateHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let clock: SimulatedClock

    init(clock: SimulatedClock) {
        self.clock = clock
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard clock.skewMilliseconds != 0, case .head(var head) = unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        head.headerFields[.date] = HTTPDate.text(unixSeconds: Int64(clock.serverSeconds))
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}
