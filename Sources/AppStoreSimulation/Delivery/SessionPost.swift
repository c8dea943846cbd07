import Foundation
import FoundationNetworking
import Synchronization

/// One POST of JSON through URLSession, which trusts the machine's roots; redirects are not followed.
final class SessionPost: NSObject, URLSessionDataDelegate {
    private static let longestBodyBytes = 65_536

    struct Answer: Sendable {
        /// 0 without an answer.
        var status = 0
        var body: [UInt8] = []
        /// Apple's name of a failure other than the status.
        var failure: String?
        var milliseconds = 0

        /// Apple's name of the failure; `nil` for success: 200 to 206.
        var failureName: String? {
            if let failure { return failure }
            return (200...206).contains(status) ? nil : "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        }
    }

    private struct Progress {
        var answer = Answer()
        var isLate = false
        var waiting: CheckedContinuation<Answer, Never>?
    }

    private let progress = Mutex(Progress())

    static func send(_ body: [UInt8], to url: URL, timeout: Duration) async -> Answer {
        let post = SessionPost()
        let session = URLSession(configuration: .ephemeral, delegate: post, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(body)
        let task = session.dataTask(with: request)
        // URLSession counts in whole seconds.
        let timer = Task {
            try await Task.sleep(for: timeout)
            post.progress.withLock { $0.isLate = true }
            task.cancel()
        }
        defer { timer.cancel() }
        let begin = ContinuousClock.now
        var answer = await withCheckedContinuation { continuation in
            post.progress.withLock { $0.waiting = continuation }
            task.resume()
        }
        answer.milliseconds = Int((ContinuousClock.now - begin) / .milliseconds(1))
        return answer
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        note(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = progress.withLock { progress in
            progress.answer.body += data
            guard progress.answer.body.count > Self.longestBodyBytes else { return false }
            progress.answer.failure = "INVALID_RESPONSE"
            return true
        }
        if isTooLong { dataTask.cancel() }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        note(response)
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        if let response = task.response { note(response) }
        let (waiting, answer) = progress.withLock { progress in
            if let error, progress.answer.failure == nil {
                progress.answer.failure = progress.isLate ? "TIMED_OUT" : Self.name(of: error)
            }
            defer { progress.waiting = nil }
            return (progress.waiting, progress.answer)
        }
        waiting?.resume(returning: answer)
    }

    private func note(_ response: URLResponse) {
        guard let status = (response as? HTTPURLResponse)?.statusCode else { return }
        progress.withLock { $0.answer.status = status }
    }

    /// Apple's name of a failure.
    private static func name(of error: any Error) -> String {
        switch (error as? URLError)?.code {
        case .timedOut: "TIMED_OUT"
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateHasUnknownRoot, .clientCertificateRejected:
            "TLS_ISSUE"
        default: "NO_RESPONSE"
        }
    }
}
