import Foundation
import Glibc
import Synchronization

/// A server of plain HTTP/1.1 on loopback that can misbehave in every way a test asks for.
///
/// One thread accepts, one thread serves each connection by running `script`; all end with the
/// server.
package final class LoopbackServer: Sendable {
    package let port: UInt16
    private let listener: Int32
    private let isListening: Bool
    private let open = OpenConnections()
    private let accepted = Atomic<Int>(0)

    /// How many connections came so far.
    package var connectionCount: Int { accepted.load(ordering: .sequentiallyConsistent) }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// A server that is not `listening` keeps its port, so that connections to it are refused.
    package init(listening: Bool = true, script: @escaping @Sendable (Connection) -> Void) throws {
        signal(SIGPIPE, SIG_IGN)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listener, pointer, length) == 0
                    && (!listening || listen(listener, 64) == 0)
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard result else { throw POSIXError(.EADDRNOTAVAIL) }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        isListening = listening
        guard listening else { return }
        let open = open
        Thread { [weak self] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0, let self else { break }
                self.accepted.add(1, ordering: .sequentiallyConsistent)
                open.insert(descriptor)
                Thread {
                    script(Connection(descriptor: descriptor))
                    open.close(descriptor)
                }.start()
            }
            // Only here is it certain that nobody accepts on this number any more.
            close(listener)
        }.start()
    }

    deinit {
        Glibc.shutdown(listener, Int32(SHUT_RDWR))
        if !isListening { close(listener) }
        open.endAll()
    }

    /// Descriptors are numbers that the system gives out again, to tests that run at the same
    /// time: one may be used only as long as it is known to be open.
    private final class OpenConnections: Sendable {
        private let descriptors = Mutex<Set<Int32>>([])

        func insert(_ descriptor: Int32) {
            descriptors.withLock { _ = $0.insert(descriptor) }
        }

        func close(_ descriptor: Int32) {
            descriptors.withLock {
                $0.remove(descriptor)
                Glibc.close(descriptor)
            }
        }

        func endAll() {
            descriptors.withLock { open in
                for descriptor in open { Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }
            }
        }
    }

    /// One connection, as the script sees it.
    package struct Connection: Sendable {
        let descriptor: Int32

        /// The next request's head, with its body when it names a length; `nil` at the end.
        package func request() -> String? {
            var bytes: [UInt8] = []
            var byte: UInt8 = 0
            while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                guard unsafe recv(descriptor, &byte, 1, 0) == 1 else { return nil }
                bytes.append(byte)
            }
            let head = String(decoding: bytes, as: UTF8.self)
            let field = head.lowercased().components(separatedBy: "content-length: ").dropFirst()
            let length = field.first.flatMap { Int($0.prefix(while: \.isNumber)) } ?? 0
            for _ in 0..<length {
                guard unsafe recv(descriptor, &byte, 1, 0) == 1 else { return nil }
                bytes.append(byte)
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        /// `false` when the client is gone.
        @discardableResult
        package func write(_ bytes: [UInt8]) -> Bool {
            unsafe bytes.withUnsafeBytes { buffer in
                unsafe send(
                    descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                    == buffer.count
            }
        }

        @discardableResult
        package func write(_ text: String) -> Bool { write(Array(text.utf8)) }

        package func respond(_ body: String, status: String = "200 OK", headers: String = "") {
            write(
                "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\n\(headers)"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }

        package func pause(milliseconds: Int) {
            Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
        }

        /// Lets the connection end with a TCP reset when the script does.
        package func resetAtEnd() {
            var option = linger(l_onoff: 1, l_linger: 0)
            unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }

        /// Blocks until the client goes or the server ends.
        package func waitForEnd() {
            var byte: UInt8 = 0
            while unsafe recv(descriptor, &byte, 1, 0) == 1 {}
        }
    }
}
