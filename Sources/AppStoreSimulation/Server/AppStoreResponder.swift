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
            method: request.method.rawValue, target: target, authorization: authorization,
            contentType: request.headers[.contentType])
        let match = Endpoint.match(asked.path)
        let name = match?.endpoint.rawValue ?? "other"
        let line = "\(asked.method) \(target)"
        var outcome = FrontDoor.Outcome(answer: .noSuchPath)
        do {
            if ["POST", "PUT"].contains(asked.method) {
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
            log.end(endpoint: name, id: match?.id ?? target, status: 0, line: line)
            throw error
        }
        log.end(
            endpoint: name, id: match?.id ?? target, status: outcome.answer.status, line: line,
            faults: outcome.faults)
        outcome.answer.headers += Self.supportHeaders()
        await context.suffer(outcome.transport)
        return Self.response(
            outcome.answer, transport: outcome.transport, endBody: context.endBody)
    }

    /// What a client quotes when it asks Apple for help; every answer carries both.
    private static func supportHeaders() -> [(name: String, value: String)] {
        let uuid = UUID()
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
        let key = (0..<26).map { _ in alphabet[Int.random(in: 0..<32)] }
        return [
            ("x-apple-request-uuid", uuid.uuidString.lowercased()),
            ("x-apple-jingle-correlation-key", String(decoding: key, as: UTF8.self)),
        ]
    }

    static func response(
        _ answer: ServiceAnswer, transport: FrontDoor.Transport = .whole,
        endBody: @escaping @Sendable () -> Void = {}
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
            body: BodyTransport.body(answer.body, transport: transport, end: endBody))
    }
}
