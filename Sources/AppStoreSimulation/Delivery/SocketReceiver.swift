import Foundation
import Synchronization

/// A receiver with plain HTTP on 127.0.0.1.
///
/// Connections are reused, which allows thousands of notifications a second.
///
/// Its calls block, so they run on their own threads.
final class SocketReceiver: NotificationReceiver {
    private let port: UInt16
    private let head: [UInt8]
    private let idle = Mutex<[ReceiverConnection]>([])
    private static let threads = DispatchQueue(
        label: "notification-delivery", attributes: .concurrent)

    init(url: URL) {
        port = UInt16(clamping: url.port ?? 80)
        var target = url.path(percentEncoded: true)
        if target.isEmpty { target = "/" }
        if let query = url.query(percentEncoded: true) { target += "?" + query }
        head = Array(
            """
            POST \(target) HTTP/1.1\r
            Host: \(url.host() ?? "127.0.0.1"):\(port)\r
            User-Agent: App-Store-Simulator\r
            Content-Type: application/json\r
            Content-Length: 
            """.utf8)
    }

    func post(_ body: [UInt8]) async -> UInt8 {
        await withCheckedContinuation { continuation in
            Self.threads.async {
                continuation.resume(returning: self.postNow(body))
            }
        }
    }

    private func postNow(_ body: [UInt8]) -> UInt8 {
        let request = head + Array("\(body.count)\r\n\r\n".utf8) + body
        // The receiver may have closed a reused connection; the request is then repeated on a new one.
        if let kept = idle.withLock({ $0.popLast() }) {
            if case .status(let status, let keeps) = kept.exchange(request) {
                return finish(kept, status: status, keeps: keeps)
            }
        }
        guard let connection = ReceiverConnection(port: port) else {
            return NotificationRecord.Delivery.outcome("NO_RESPONSE")
        }
        switch connection.exchange(request) {
        case .status(let status, let keeps):
            return finish(connection, status: status, keeps: keeps)
        case .failed(let name): return NotificationRecord.Delivery.outcome(name)
        }
    }

    private func finish(_ connection: ReceiverConnection, status: Int, keeps: Bool) -> UInt8 {
        if keeps { idle.withLock { $0.append(connection) } }
        return NotificationRecord.Delivery.outcome(ofStatus: status)
    }
}
