import Glibc

/// One connection to a receiver of plain HTTP/1.1 on 127.0.0.1.
final class ReceiverConnection: Sendable {
    private static let timeoutSeconds = 5
    private static let longestHead = 65_536
    private static let longestBody = 1_048_576

    enum Outcome {
        /// An answer; `keeps`: whether the connection can be used again.
        case status(Int, keeps: Bool)
        /// Apple's name of the failure.
        case failed(String)
    }

    private let descriptor: Int32

    /// `nil` if nothing listens.
    init?(port: UInt16) {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        descriptor = socket
        var limit = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        var yes: Int32 = 1
        _ = unsafe setsockopt(
            socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let isConnected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(socket, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Sends a request and reads the answer to its end.
    func exchange(_ request: [UInt8]) -> Outcome {
        guard send(request) else { return .failed("SOCKET_ISSUE") }
        var bytes: [UInt8] = []
        while true {
            if let end = Self.endOfHead(bytes) {
                guard let head = AnswerHead(bytes[..<end]) else {
                    return .failed("INVALID_RESPONSE")
                }
                bytes.removeFirst(end)
                guard head.status >= 200 else { continue }
                return .status(head.status, keeps: readBody(of: head, begun: bytes))
            }
            guard bytes.count < Self.longestHead else { return .failed("INVALID_RESPONSE") }
            switch receive(into: &bytes) {
            case .some(0): return .failed(bytes.isEmpty ? "NO_RESPONSE" : "PREMATURE_CLOSE")
            case .some: continue
            case nil:
                return .failed([EAGAIN, EWOULDBLOCK].contains(errno) ? "TIMED_OUT" : "NO_RESPONSE")
            }
        }
    }

    /// Reads the body; returns whether it was complete, so that the connection can be used again.
    private func readBody(of head: AnswerHead, begun bytes: [UInt8]) -> Bool {
        guard head.keepsAlive, let length = head.contentLength, length <= Self.longestBody else {
            return false
        }
        var bytes = bytes
        while bytes.count < length {
            guard let count = receive(into: &bytes), count > 0 else { return false }
        }
        return bytes.count == length
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress?.advanced(by: sent), buffer.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// The number of bytes received; `nil` for an error.
    private func receive(into bytes: inout [UInt8]) -> Int? {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = unsafe chunk.withUnsafeMutableBytes { buffer in
            unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
        }
        guard count >= 0 else { return nil }
        bytes.append(contentsOf: chunk[..<count])
        return count
    }

    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return (3..<bytes.count).first {
            bytes[$0] == 10 && bytes[$0 - 1] == 13 && bytes[$0 - 2] == 10 && bytes[$0 - 3] == 13
        }.map { $0 + 1 }
    }
}

/// Status line and fields of an answer.
struct AnswerHead {
    let status: Int
    var contentLength: Int?
    var keepsAlive = true

    init?(_ bytes: some Collection<UInt8>) {
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let words = lines.first?.split(separator: " "), words.count >= 2,
            words[0].hasPrefix("HTTP/1."), let status = Int(words[1]), (100...599).contains(status)
        else { return nil }
        self.status = status
        if words[0] == "HTTP/1.0" { keepsAlive = false }
        if status == 204 || status == 304 { contentLength = 0 }
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = parts[1].filter { $0 != " " }.lowercased()
            switch parts[0].lowercased() {
            case "content-length": contentLength = Int(value)
            case "connection": if value == "close" { keepsAlive = false }
            default: break
            }
        }
    }
}
