import HTTPTypes
import Hummingbird

/// The revocation service behind a web server.
struct OCSPResponder: HTTPResponder {
    typealias Context = RequestOrigin

    private static let bodyLimitBytes = 16 * 1024

    let service: OCSPService

    func respond(to request: Request, context: RequestOrigin) async throws -> Response {
        var asked = ServiceRequest(
            method: request.method.rawValue, target: request.head.path ?? "/")
        let body = try await request.body.collect(upTo: Self.bodyLimitBytes)
        asked.body = Array(body.readableBytesView)
        let outcome = service.outcome(asked)
        if outcome.delayMilliseconds > 0 {
            try await Task.sleep(for: .milliseconds(outcome.delayMilliseconds))
        }
        return AppStoreResponder.response(outcome.answer)
    }
}
