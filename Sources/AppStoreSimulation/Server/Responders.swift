import FoundationEssentials
import HTTPTypes
import Hummingbird

/// Serves the simulated API over HTTP and logs the requests.
struct AppStoreResponder: HTTPResponder {
    typealias Context = RequestOrigin

    private static let bodyLimitBytes = 64 * 1024

    let gateway: APIGateway
    let log: RequestLog

    func respond(to request: Request, context: RequestOrigin) async throws -> Response {
        let authorization = request.headers[.authorization]
        let arrival = log.begin(
            authorization: authorization, connection: context.connection,
            protocolName: context.protocolName)
        let target = request.head.path ?? "/"
        var asked = ServiceRequest(
            method: request.method.rawValue, target: target, authorization: authorization,
            contentType: request.headers[.contentType])
        let match = Endpoint.match(asked)
        let name = match?.endpoint.rawValue ?? "other"
        var outcome = APIGateway.Outcome(answer: .noSuchPath)
        do {
            if ["POST", "PUT"].contains(asked.method) {
                let body = try await request.body.collect(
                    upTo: match?.endpoint.bodyLimitBytes ?? Self.bodyLimitBytes)
                asked.body = Array(body.readableBytesView)
            }
            // Lets requests that have already arrived be counted as concurrent with this one.
            await Task.yield()
            outcome = gateway.outcome(asked)
            if outcome.delayMilliseconds > 0 {
                try await Task.sleep(for: .milliseconds(outcome.delayMilliseconds))
            }
        } catch {
            log.end(
                arrival, endpoint: name, id: match?.id ?? target, status: 0,
                method: asked.method, target: target)
            throw error
        }
        log.end(
            arrival, endpoint: name, id: match?.id ?? target, status: outcome.answer.status,
            method: asked.method, target: target, faults: outcome.faults)
        outcome.answer.headers += Self.supportHeaders()
        await context.apply(outcome.transport)
        return Self.response(
            outcome.answer, transport: outcome.transport, endBody: context.endBody)
    }

    /// The ids that a developer quotes to Apple's support; every answer has both.
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
        _ answer: ServiceAnswer, transport: APIGateway.Transport = .whole,
        endBody: @escaping @Sendable () -> Void = {}
    ) -> Response {
        var headers = HTTPFields()
        if let type = answer.contentType { headers[.contentType] = type }
        for (name, value) in answer.headers {
            if let name = HTTPField.Name(name) { headers[fields: name] = [unrepeated(name, value)] }
        }
        if case .endless = transport {
        } else {
            let length = unrepeated(.contentLength, String(answer.body.count))
            headers[fields: .contentLength] = [length]
        }
        return Response(
            status: HTTPResponse.Status(code: answer.status), headers: headers,
            body: BodyTransport.body(answer.body, transport: transport, end: endBody))
    }

    /// A field whose value is another in every answer, so that HTTP/2 does not put it into its table of
    /// fields, which is searched for every field of every answer.
    private static func unrepeated(_ name: HTTPField.Name, _ value: String) -> HTTPField {
        var field = HTTPField(name: name, value: value)
        field.indexingStrategy = .avoid
        return field
    }
}

/// Serves the control calls over HTTP.
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

/// Serves the OCSP responder over HTTP.
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
