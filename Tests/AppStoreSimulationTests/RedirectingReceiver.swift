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
        let (listener, port) = try LoopbackSocket.listen()
        self.listener = listener
        address = "http://127.0.0.1:\(port)/apple"
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
