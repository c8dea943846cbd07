import HTTPTypes
import Hummingbird

/// The control calls, on a plain HTTP port of their own.
struct ControlResponder: HTTPResponder {
    typealias Context = RequestOrigin

    let control: SimulatorControl

    func respond(to request: Request, context: RequestOrigin) async throws -> Response {
        let target = request.head.path ?? "/"
        var asked = ServiceRequest(method: request.method.rawValue, target: target)
        if asked.method == "POST" {
            let body = try await request.body.collect(upTo: SimulatorControl.bodyLimitBytes)
            asked.body = Array(body.readableBytesView)
        }
        return AppStoreResponder.response(await control.answer(asked))
    }
}
