import Hummingbird

/// Where a request came from: its connection and the protocol spoken on it.
struct RequestOrigin: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// One value per TCP connection.
    let connection: String
    let protocolName: String

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        // A stream of HTTP/2 is a channel of its own below the connection's channel, which itself
        // is below the listening one.
        let channel = source.channel
        if let parent = channel.parent, parent.parent != nil {
            connection = "\(ObjectIdentifier(parent))"
            protocolName = "HTTP/2"
        } else {
            connection = "\(ObjectIdentifier(channel))"
            protocolName = "HTTP/1.1"
        }
    }
}
