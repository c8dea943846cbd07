import Hummingbird
import NIOCore

/// Where a request came from: its connection and the protocol spoken on it.
struct RequestOrigin: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// One value per TCP connection.
    let connection: String
    let protocolName: String
    /// `nil` over HTTP/1.1.
    let stream: RequestStream?
    /// Closes the TCP connection, whatever else is going on over it.
    let closeConnection: @Sendable () -> Void

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        // A stream of HTTP/2 is a channel of its own below the connection's channel, which itself
        // is below the listening one.
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

    /// The client's address and port beside the object: that of an ended connection is soon another's.
    private static func name(of connection: any Channel) -> String {
        let client = connection.remoteAddress.map(\.description) ?? ""
        return "\(ObjectIdentifier(connection)) \(client)"
    }

    /// A stream of HTTP/2 ends with its own body; HTTP/1.1 has the connection's end alone.
    var endBody: @Sendable () -> Void {
        guard stream == nil else { return {} }
        return closeConnection
    }

    /// What a fault does to the connection before an answer is sent.
    func suffer(_ transport: FrontDoor.Transport) async {
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
