import Glibc
import Synchronization

/// A port that nobody else takes, before anything listens on it and while nothing does.
///
/// The address of the revocation service stands in certificates that are made before the service
/// listens, and a store that refuses connections comes back under its port. The socket is bound
/// without listening, so that a listener which reuses addresses may take its place.
final class ReservedPort: Sendable {
    let number: Int
    private let descriptor: Mutex<Int32>

    /// `wanted`: 0 takes a free port.
    init(_ wanted: Int, on address: NetworkAddress = .loopback) throws(SimulatorError) {
        let family = address.bytes.count == 4 ? AF_INET : AF_INET6
        let socket = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw .cannotListen(reason: "no socket for port \(wanted)") }
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, size)
        guard let port = Self.bind(socket, to: address, port: in_port_t(wanted)) else {
            let reason = errno
            close(socket)
            throw .cannotListen(
                reason: reason == EADDRINUSE
                    ? "the port \(wanted) of \(address.text) is taken"
                    : "the address \(address.text) cannot be used with port \(wanted)")
        }
        number = Int(port)
        descriptor = Mutex(socket)
    }

    /// The port that the socket is bound to, or `nil`.
    private static func bind(
        _ socket: Int32, to address: NetworkAddress, port: in_port_t
    ) -> in_port_t? {
        // One structure of each family, as <netinet/in.h> lays them out.
        if address.bytes.count == 4 {
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = port.bigEndian
            name.sin_addr.s_addr = address.bytes.reversed().reduce(0) { $0 << 8 | in_addr_t($1) }
            return bind(socket, &name) ? in_port_t(bigEndian: name.sin_port) : nil
        }
        var name = sockaddr_in6()
        name.sin6_family = sa_family_t(AF_INET6)
        name.sin6_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &name.sin6_addr) { place in
            unsafe place.copyBytes(from: address.bytes)
        }
        return bind(socket, &name) ? in_port_t(bigEndian: name.sin6_port) : nil
    }

    /// Binds, and reads back what was bound.
    private static func bind<Name>(_ socket: Int32, _ name: inout Name) -> Bool {
        var length = socklen_t(MemoryLayout<Name>.size)
        return unsafe withUnsafeMutablePointer(to: &name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe Glibc.bind(socket, pointer, length) == 0
                    && getsockname(socket, pointer, &length) == 0
            }
        }
    }

    deinit {
        descriptor.withLock { _ = close($0) }
    }
}
