import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore

/// HTTPS with HTTP/2 and HTTP/1.1 by ALPN, which keeps the connections of libcurl open.
struct AppleLikeChannel: ServerChildChannel {
    typealias Value = HTTP2UpgradeChannel.Value

    let base: HTTP2UpgradeChannel

    static func builder(_ identity: TLSIdentity) throws -> HTTPServerBuilder {
        let configuration = try TLSListener.configuration(identity)
        return HTTPServerBuilder { responder in
            AppleLikeChannel(
                base: try HTTP2UpgradeChannel(
                    tlsConfiguration: configuration, configuration: .init(), responder: responder))
        }
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            // Behind TLS; the negotiated protocol's own handlers come behind it.
            try channel.pipeline.syncOperations.addHandler(ClosedStreamResetFilter())
            return value
        }
    }

    func handle(value: Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}
