/// An answer of the simulated API.
package struct ServiceAnswer: Sendable {
    package var status: Int
    package var contentType: String?
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8]

    static func json(_ write: (inout JSONWriter) -> Void) -> ServiceAnswer {
        var json = JSONWriter(capacity: 12_000)
        json.object(write)
        return ServiceAnswer(status: 200, contentType: "application/json", body: json.bytes)
    }

    static func failure(_ failure: APIFailure) -> ServiceAnswer {
        var json = JSONWriter(capacity: 128)
        json.object { json in
            json.field("errorCode", failure.rawValue)
            json.field("errorMessage", failure.message)
        }
        return ServiceAnswer(
            status: failure.httpStatus, contentType: "application/json", body: json.bytes)
    }

    /// Apple's body of a 401 is not JSON.
    static let unauthorized = ServiceAnswer(
        status: 401, contentType: "text/plain;charset=UTF-8",
        body: Array("Unauthenticated\n\nRequest ID: SIMULATED0000000000000000.0.0\n".utf8))

    static let noSuchPath = ServiceAnswer(status: 404, contentType: nil, body: [])
    static let wrongMethod = ServiceAnswer(status: 405, contentType: nil, body: [])
}
