import Glibc
import NIOCore

/// Lets nothing through that a client sends: the connection stands, and that is all.
final class SilentHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}

/// Resets the connection as soon as it stands.
final class ResettingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        guard let socket = channel as? any SocketOptionProvider else {
            return channel.close(promise: nil)
        }
        // A socket that does not linger is closed with RST instead of FIN.
        socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
            channel.close(promise: nil)
        }
    }
}
