import Foundation
import Glibc
import Synchronization

/// A receiver with plain HTTP that redirects every request, or never answers.
final class RedirectingReceiver: Sendable {
    let address: String
    private let listener: Int32
    private let seen = Mutex<[String]>([])

    /// The targets of the requests received.
    var targets: [String] { seen.withLock { $0 } }

    init(isSilent: Bool = false) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &place) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listener, pointer, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
        self.listener = listener
        address = "http://127.0.0.1:\(in_port_t(bigEndian: place.sin_port))/apple"
        Thread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                guard !isSilent else { continue }
                var bytes = [UInt8](repeating: 0, count: 65_536)
                let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                    unsafe recv(connection, buffer.baseAddress, buffer.count, 0)
                }
                let words = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                    .split(separator: " ")
                if words.count > 1 { self?.seen.withLock { $0.append(String(words[1])) } }
                let answer = Array(
                    "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                        .utf8)
                _ = unsafe answer.withUnsafeBytes { buffer in
                    unsafe send(
                        connection, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                }
                shutdown(connection, Int32(SHUT_WR))
                // The rest of the request is read, so that the answer is not cut off.
                while unsafe bytes.withUnsafeMutableBytes({ buffer in
                    unsafe recv(connection, buffer.baseAddress, buffer.count, 0)
                }) > 0 {}
                close(connection)
            }
        }.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }
}
