import Glibc
import Synchronization

/// A numeric IP address.
package struct NetworkAddress: Hashable, Sendable {
    static let loopback = NetworkAddress(text: "127.0.0.1", bytes: [127, 0, 0, 1])

    let text: String
    /// Four bytes for IPv4, sixteen for IPv6.
    let bytes: [UInt8]

    private init(text: String, bytes: [UInt8]) {
        self.text = text
        self.bytes = bytes
    }

    /// `nil` for anything but a numeric address; names are not resolved.
    package init?(_ text: String) {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            let isRead = unsafe bytes.withUnsafeMutableBytes {
                unsafe inet_pton(family, text, $0.baseAddress) == 1
            }
            if isRead {
                self.init(text: text, bytes: bytes)
                return
            }
        }
        return nil
    }

    /// Whether it means every address of the machine.
    var isWildcard: Bool { bytes.allSatisfy { $0 == 0 } }

    /// The host part of URLs that clients on this machine can use.
    var urlHost: String {
        guard !isWildcard else { return bytes.count == 4 ? "127.0.0.1" : "[::1]" }
        return bytes.count == 4 ? text : "[\(text)]"
    }
}

/// Reserves a port, before anything listens on it and while nothing does.
///
/// Certificates contain the address of the OCSP responder and are made before it listens, and a store
/// that refuses connections later listens on the same port again. The socket is bound but does not
/// listen; a listener can use the same port, because both set SO_REUSEADDR.
final class ReservedPort: Sendable {
    let number: Int
    private let descriptor: Mutex<Int32>

    /// `wanted`: 0 chooses a free port.
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
        // The structures of <netinet/in.h>, one for each address family.
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
