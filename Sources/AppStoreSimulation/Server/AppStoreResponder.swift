import FoundationEssentials
import HTTPTypes
import Hummingbird

/// Puts the simulated API behind a web server, and writes down what was asked.
struct AppStoreResponder: HTTPResponder {
    typealias Context = RequestOrigin

    private static let bodyLimitBytes = 64 * 1024

    let door: FrontDoor
    let log: RequestLog

    func respond(to request: Request, context: RequestOrigin) async throws -> Response {
        let authorization = request.headers[.authorization]
        log.begin(
            token: authorization, connection: context.connection,
            protocolName: context.protocolName)
        let target = request.head.path ?? "/"
        var asked = ServiceRequest(
            method: request.method.rawValue, target: target, authorization: authorization)
        let match = Endpoint.match(asked.path)
        let name = match?.endpoint.rawValue ?? "other"
        var outcome = FrontDoor.Outcome(answer: .noSuchPath)
        do {
            if asked.method == "POST" {
                let body = try await request.body.collect(upTo: Self.bodyLimitBytes)
                asked.body = Array(body.readableBytesView)
            }
            // Requests that have arrived already are counted before this one ends.
            await Task.yield()
            outcome = door.outcome(asked)
            if outcome.delayMilliseconds > 0 {
                try await Task.sleep(for: .milliseconds(outcome.delayMilliseconds))
            }
        } catch {
            log.end(endpoint: name, id: match?.id ?? target, status: 0)
            throw error
        }
        log.end(endpoint: name, id: match?.id ?? target, status: outcome.answer.status)
        outcome.answer.headers.append(("x-apple-request-uuid", UUID().uuidString.lowercased()))
        if case .dropConnection = outcome.transport { context.closeConnection() }
        return Self.response(outcome.answer, transport: outcome.transport)
    }

    static func response(
        _ answer: ServiceAnswer, transport: FrontDoor.Transport = .whole
    ) -> Response {
        var headers = HTTPFields()
        if let type = answer.contentType { headers[.contentType] = type }
        for (name, value) in answer.headers {
            if let field = HTTPField.Name(name) { headers[field] = value }
        }
        if case .endless = transport {
        } else {
            headers[.contentLength] = String(answer.body.count)
        }
        return Response(
            status: HTTPResponse.Status(code: answer.status), headers: headers,
            body: BodyTransport.body(answer.body, transport: transport))
    }
}
