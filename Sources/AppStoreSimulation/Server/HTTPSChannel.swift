import Glibc
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import HummingbirdTLS
import Logging
import NIOCore

/// HTTPS with HTTP/2 and HTTP/1.1 (chosen by ALPN), and with the connection faults of the fault plan.
struct HTTPSChannel: ServerChildChannel {
    typealias HTTP1 = TLSChannel<HTTP1Channel>

    enum Value: ServerChildChannelValue {
        case negotiated(HTTP2UpgradeChannel.Value, TLSVariant)
        case http1(HTTP1.Value, TLSVariant)

        var channel: any Channel {
            switch self {
            case .negotiated(let value, _): value.channel
            case .http1(let value, _): value.channel
            }
        }
    }

    private let offersHTTP2: Bool
    private let http1: [TLSVariant: HTTP1]
    private let http2: [TLSVariant: HTTP2UpgradeChannel]
    private let connections: OpenConnections
    /// The fault of a new connection, or `nil`.
    private let nextFault: @Sendable () -> ConnectionFault?

    static func builder(
        _ authority: TLSAuthority, offersHTTP2: Bool, clock: SimulatedClock,
        connections: OpenConnections, nextFault: @escaping @Sendable () -> ConnectionFault?
    ) throws -> HTTPServerBuilder {
        var configurations: [TLSVariant: TLSConfiguration] = [:]
        for variant in TLSVariant.allCases {
            configurations[variant] = try variant.configuration(authority)
        }
        return HTTPServerBuilder { [configurations] responder in
            try HTTPSChannel(
                configurations, offersHTTP2: offersHTTP2, clock: clock, connections: connections,
                nextFault: nextFault, responder: responder)
        }
    }

    private init(
        _ configurations: [TLSVariant: TLSConfiguration], offersHTTP2: Bool,
        clock: SimulatedClock, connections: OpenConnections,
        nextFault: @escaping @Sendable () -> ConnectionFault?,
        responder: @escaping HTTPChannelHandler.Responder
    ) throws {
        self.offersHTTP2 = offersHTTP2
        self.connections = connections
        self.nextFault = nextFault
        http2 = try configurations.mapValues {
            try HTTP2UpgradeChannel(
                tlsConfiguration: $0,
                configuration: .init(
                    streamConfiguration: .init(
                        additionalChannelHandlers: [ServerDateHandler(clock: clock)])),
                responder: responder)
        }
        http1 = try configurations.mapValues {
            try HTTP1(
                HTTP1Channel(
                    responder: responder,
                    configuration: .init(
                        additionalChannelHandlers: [ServerDateHandler(clock: clock)])),
                tlsConfiguration: $0)
        }
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let fault = nextFault()
        do {
            switch fault {
            case .stalled: try channel.pipeline.syncOperations.addHandler(SilentHandler())
            case .reset: try channel.pipeline.syncOperations.addHandler(ResettingHandler())
            default: break
            }
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        let variant = fault.flatMap(TLSVariant.init) ?? .right
        if offersHTTP2, fault != .http1Only, let base = http2[variant] {
            return base.setup(channel: channel, logger: logger).flatMapThrowing { value in
                // Placed behind TLS and before the handlers of the negotiated protocol.
                try channel.pipeline.syncOperations.addHandler(ClosedStreamResetFilter())
                return .negotiated(value, variant)
            }
        }
        guard let base = http1[variant] else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        return base.setup(channel: channel, logger: logger).map { .http1($0, variant) }
    }

    func handle(value: Value, logger: Logger) async {
        await connections.serve { [http1, http2] in
            switch value {
            case .negotiated(let value, let variant):
                await http2[variant]?.handle(value: value, logger: logger)
            case .http1(let value, let variant):
                await http1[variant]?.handle(value: value, logger: logger)
            }
        }
    }
}

/// Discards everything that a client sends, so that the connection stays open without an answer.
final class SilentHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}

/// Resets the connection as soon as it is established.
final class ResettingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        guard let socket = channel as? any SocketOptionProvider else {
            return channel.close(promise: nil)
        }
        // With a linger time of zero, closing sends RST instead of FIN.
        socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
            channel.close(promise: nil)
        }
    }
}
