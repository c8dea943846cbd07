import Glibc
import Synchronization

/// A port on 127.0.0.1 that nobody else takes, before anything listens on it.
///
/// The address of the revocation service stands in certificates that are made before the service
/// listens. The socket is bound without listening, so that a listener which reuses addresses may
/// take its place.
final class ReservedPort: Sendable {
    let number: Int
    private let descriptor: Mutex<Int32>

    /// `wanted`: 0 takes a free port.
    init(_ wanted: Int) throws(SimulatorError) {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw .cannotListen(reason: "no socket for the OCSP port") }
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, size)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(wanted).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(socket, pointer, length) == 0
                    && getsockname(socket, pointer, &length) == 0
            }
        }
        guard isBound else {
            close(socket)
            throw .cannotListen(reason: "the OCSP port \(wanted) is taken")
        }
        number = Int(in_port_t(bigEndian: address.sin_port))
        descriptor = Mutex(socket)
    }

    deinit {
        descriptor.withLock { _ = close($0) }
    }
}
