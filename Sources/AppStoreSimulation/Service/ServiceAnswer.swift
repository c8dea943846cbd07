/// An answer of the simulated API.
package struct ServiceAnswer: Sendable {
    package var status: Int
    package var contentType: String?
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8]

    static func json(_ write: (inout JSONWriter) -> Void) -> ServiceAnswer {
        var json = JSONWriter(capacity: 12_000)
        json.object(write)
        return .json(json.bytes)
    }

    static func json(_ body: [UInt8]) -> ServiceAnswer {
        ServiceAnswer(status: 200, contentType: "application/json", body: body)
    }

    static func failure(_ failure: APIFailure) -> ServiceAnswer {
        self.failure(code: failure.rawValue, message: failure.message)
    }

    /// Apple's error body; the HTTP status is the code divided by 10,000.
    static func failure(code: Int, message: String) -> ServiceAnswer {
        var json = JSONWriter(capacity: 128)
        json.object { json in
            json.field("errorCode", code)
            json.field("errorMessage", message)
        }
        return ServiceAnswer(
            status: code / 10_000, contentType: "application/json", body: json.bytes)
    }

    static func rateLimited(retryAfter: String?) -> ServiceAnswer {
        var answer = failure(.rateLimitExceeded)
        if let retryAfter { answer.headers = [("Retry-After", retryAfter)] }
        return answer
    }

    /// A refused control call, with the reason.
    static func refusedControl(_ reason: String, status: Int = 400) -> ServiceAnswer {
        var answer = json { $0.field("error", reason) }
        answer.status = status
        return answer
    }

    /// A 404 for a control call that does not exist, or exists with another method.
    static func noSuchControl(_ request: ServiceRequest) -> ServiceAnswer {
        let path = request.path.joined(separator: "/")
        return refusedControl(
            "There is no call \(request.method) /\(path); docs/simulator.md lists them.",
            status: 404)
    }

    /// Apple's body of a 401 is not JSON.
    static let unauthorized = ServiceAnswer(
        status: 401, contentType: "text/plain;charset=UTF-8",
        body: Array("Unauthenticated\n\nRequest ID: SIMULATED0000000000000000.0.0\n".utf8))

    /// JSON whose members have other types than Apple documents.
    static let wrongTypes = ServiceAnswer(
        status: 200, contentType: "application/json",
        body: Array(
            #"{"environment":7,"bundleId":[],"data":{"status":"1"},"signedTransactions":"none","#
                .utf8)
            + Array(
                #""hasMore":"yes","revision":5,"notificationHistory":{},"signedTransactionInfo":1}"#
                    .utf8))

    /// A control call that has been carried out.
    static let ok = json { $0.field("status", "ok") }

    /// An accepted request; the answer has no body.
    static func empty(status: Int) -> ServiceAnswer {
        ServiceAnswer(status: status, contentType: nil, body: [])
    }

    static let noSuchPath = ServiceAnswer(status: 404, contentType: nil, body: [])
    /// A body that is not JSON, such as a form.
    static let unsupportedMediaType = ServiceAnswer(status: 415, contentType: nil, body: [])
    static let wrongMethod = ServiceAnswer(status: 405, contentType: nil, body: [])
}
