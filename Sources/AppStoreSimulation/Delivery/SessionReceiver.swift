import Foundation
import FoundationNetworking
import Synchronization

/// A receiver with HTTPS or an IPv6 address, reached through URLSession, which trusts the machine's
/// roots.
///
/// Redirects are not followed.
final class SessionReceiver: NSObject, NotificationReceiver, URLSessionDataDelegate {
    private static let timeoutSeconds = 5.0

    private struct Exchange {
        var status = 0
        var answered: CheckedContinuation<UInt8, Never>
    }

    private let url: URL
    private let exchanges = Mutex<[Int: Exchange]>([:])

    init(url: URL) {
        self.url = url
    }

    func post(_ body: [UInt8]) async -> UInt8 {
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        var request = URLRequest(url: url, timeoutInterval: Self.timeoutSeconds)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(body)
        let task = session.dataTask(with: request)
        return await withCheckedContinuation { continuation in
            exchanges.withLock {
                $0[ObjectIdentifier(task).hashValue] = Exchange(answered: continuation)
            }
            task.resume()
        }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        exchanges.withLock { $0[ObjectIdentifier(dataTask).hashValue]?.status = status }
        completionHandler(.allow)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        exchanges.withLock { $0[ObjectIdentifier(task).hashValue]?.status = response.statusCode }
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        let exchange = exchanges.withLock {
            $0.removeValue(forKey: ObjectIdentifier(task).hashValue)
        }
        guard let exchange else { return }
        let status =
            exchange.status != 0
            ? exchange.status : (task.response as? HTTPURLResponse)?.statusCode ?? 0
        exchange.answered.resume(returning: Self.outcome(status: status, error: error))
    }

    private static func outcome(status: Int, error: (any Error)?) -> UInt8 {
        guard status == 0 || error != nil else {
            return NotificationRecord.Delivery.outcome(ofStatus: status)
        }
        let name =
            switch (error as? URLError)?.code {
            case .timedOut: "TIMED_OUT"
            case .secureConnectionFailed, .serverCertificateUntrusted,
                .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
                .clientCertificateRejected:
                "TLS_ISSUE"
            default: "NO_RESPONSE"
            }
        return NotificationRecord.Delivery.outcome(name)
    }
}
