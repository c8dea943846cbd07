import HTTPTypes
import Hummingbird

/// Puts the simulated API behind a web server, and writes down what was asked.
struct AppStoreResponder: HTTPResponder {
    typealias Context = RequestOrigin

    private static let bodyLimitBytes = 64 * 1024

    let service: AppStoreService
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
        do {
            if asked.method == "POST" {
                let body = try await request.body.collect(upTo: Self.bodyLimitBytes)
                asked.body = Array(body.readableBytesView)
            }
        } catch {
            log.end(endpoint: name, id: match?.id ?? target, status: 413)
            return Response(status: .contentTooLarge)
        }
        let answer = service.answer(asked)
        log.end(endpoint: name, id: match?.id ?? target, status: answer.status)
        return Self.response(answer)
    }

    static func response(_ answer: ServiceAnswer) -> Response {
        var headers = HTTPFields()
        if let type = answer.contentType { headers[.contentType] = type }
        headers[.contentLength] = String(answer.body.count)
        for (name, value) in answer.headers {
            if let field = HTTPField.Name(name) { headers[field] = value }
        }
        return Response(
            status: HTTPResponse.Status(code: answer.status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
    }
}
