import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import HummingbirdTLS
import Logging
import NIOCore

/// HTTPS with HTTP/2 and HTTP/1.1 by ALPN, which keeps the connections of libcurl open and breaks
/// others where a fault plan says so.
struct AppleLikeChannel: ServerChildChannel {
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
    /// What a new connection runs into.
    private let nextFault: @Sendable () -> ConnectionFault?

    static func builder(
        _ authority: TLSAuthority, offersHTTP2: Bool,
        nextFault: @escaping @Sendable () -> ConnectionFault?
    ) throws -> HTTPServerBuilder {
        var configurations: [TLSVariant: TLSConfiguration] = [:]
        for variant in TLSVariant.allCases {
            configurations[variant] = try variant.configuration(authority)
        }
        return HTTPServerBuilder { [configurations] responder in
            try AppleLikeChannel(
                configurations, offersHTTP2: offersHTTP2, nextFault: nextFault,
                responder: responder)
        }
    }

    private init(
        _ configurations: [TLSVariant: TLSConfiguration], offersHTTP2: Bool,
        nextFault: @escaping @Sendable () -> ConnectionFault?,
        responder: @escaping HTTPChannelHandler.Responder
    ) throws {
        self.offersHTTP2 = offersHTTP2
        self.nextFault = nextFault
        http2 = try configurations.mapValues {
            try HTTP2UpgradeChannel(
                tlsConfiguration: $0, configuration: .init(), responder: responder)
        }
        http1 = try configurations.mapValues {
            try HTTP1(HTTP1Channel(responder: responder), tlsConfiguration: $0)
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
                // Behind TLS; the negotiated protocol's own handlers come behind it.
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
        switch value {
        case .negotiated(let value, let variant):
            await http2[variant]?.handle(value: value, logger: logger)
        case .http1(let value, let variant):
            await http1[variant]?.handle(value: value, logger: logger)
        }
    }
}
