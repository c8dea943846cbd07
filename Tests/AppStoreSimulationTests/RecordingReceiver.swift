import Foundation
import Glibc
import Synchronization

/// A listening TCP socket on a free port of 127.0.0.1.
enum LoopbackSocket {
    static func listen() throws -> (descriptor: Int32, port: UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &place) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listener, pointer, length) == 0 && Glibc.listen(listener, 16) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
        return (listener, in_port_t(bigEndian: place.sin_port))
    }
}

/// A receiver with plain HTTP that answers every request alike, or never, and keeps the requests.
///
/// It answers on a thread of its own, so that no test that runs at the same time can make it late.
final class RecordingReceiver: Sendable {
    struct Request {
        var target: String
        var body: String
    }

    let address: String
    private let listener: Int32
    private let received = Mutex<[Request]>([])

    /// What was received, in its order.
    var requests: [Request] { received.withLock { $0 } }

    /// `answer`: the body of its answers, which come after `delay` seconds; without a status, none comes.
    init(
        answer: String = "", status: String? = "200 OK", headers: String = "", delay: Double = 0
    ) throws {
        let (listener, port) = try LoopbackSocket.listen()
        self.listener = listener
        address = "http://127.0.0.1:\(port)/apple"
        Thread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                guard let status else { continue }
                if let request = Self.request(of: connection) {
                    self?.received.withLock { $0.append(request) }
                }
                Thread.sleep(forTimeInterval: delay)
                let head = "HTTP/1.1 \(status)\r\n\(headers)Connection: close\r\n"
                let answer = Array(
                    (head + "Content-Length: \(answer.utf8.count)\r\n\r\n" + answer).utf8)
                _ = unsafe answer.withUnsafeBytes { buffer in
                    unsafe send(
                        connection, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                }
                close(connection)
            }
        }.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Reads one request; `nil` if it is not complete.
    private static func request(of connection: Int32) -> Request? {
        var bytes: [UInt8] = []
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n") {
                let length = text[..<end.lowerBound].lowercased()
                    .components(separatedBy: "content-length:").last
                    .flatMap { Int($0.prefix { $0 != "\r\n" }.filter(\.isNumber)) }
                let words = text[..<end.lowerBound].split(separator: " ")
                let body = text[end.upperBound...]
                if let length, body.utf8.count >= length, words.count > 1 {
                    return Request(target: String(words[1]), body: String(body))
                }
            }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                unsafe recv(connection, buffer.baseAddress, buffer.count, 0)
            }
            guard count > 0 else { return nil }
            bytes += chunk[..<count]
        }
    }
}
