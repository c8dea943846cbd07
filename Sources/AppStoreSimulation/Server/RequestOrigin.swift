import Hummingbird
import NIOCore

/// Where a request came from: its connection and the protocol spoken on it.
struct RequestOrigin: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// One value per TCP connection.
    let connection: String
    let protocolName: String
    /// Closes the TCP connection, whatever else is going on over it.
    let closeConnection: @Sendable () -> Void

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        // A stream of HTTP/2 is a channel of its own below the connection's channel, which itself
        // is below the listening one.
        let channel = source.channel
        if let parent = channel.parent, parent.parent != nil {
            connection = "\(ObjectIdentifier(parent))"
            closeConnection = { parent.close(promise: nil) }
            protocolName = "HTTP/2"
        } else {
            connection = "\(ObjectIdentifier(channel))"
            closeConnection = { channel.close(promise: nil) }
            protocolName = "HTTP/1.1"
        }
    }
}
