import AppStoreServerAPI
import JSONWebSignature
import Subscriptions
import TestSupport

/// One vector of the API: what we would send, and what we make of the answer.
struct APIVector {
    let vector: ConformanceVector

    /// The calls that a run makes; the vectors cover the whole API.
    private static let endpoints = [
        "GET /inApps/v1/subscriptions/{anyTransactionId}",
        "GET /inApps/v1/transactions/{transactionId}",
        "GET /inApps/v2/history/{anyTransactionId}",
        "POST /inApps/v1/notifications/history",
    ]

    func outcome() async -> SignedDataVector.Outcome {
        if let requirement = vector.requirement { return .skipped(requirement) }
        if vector.text("kind") == "model" { return modelOutcome() }
        if vector.text("operation") == "init" { return configurationOutcome() }
        guard let endpoint = vector.text("endpoint"), Self.endpoints.contains(endpoint) else {
            return .skipped("endpoint \(vector.text("endpoint") ?? "?")")
        }
        if let failure = await requestFailure(endpoint) {
            return .refusedOrAcceptedWrongly(failure)
        }
        return await answerOutcome(endpoint)
    }

    // MARK: - Models

    private func modelOutcome() -> SignedDataVector.Outcome {
        let json = Array((vector.text("json") ?? "").utf8)
        do {
            switch vector.text("model") {
            case "JWSTransactionDecodedPayload":
                let model = try JWSTransactionDecodedPayload(json: json)
                return fields(of: model, unknowns: model.unknowns)
            case "ResponseBodyV2DecodedPayload":
                let model = try ResponseBodyV2DecodedPayload(json: json)
                return fields(of: model, unknowns: model.unknowns)
            case "AppData":
                return fields(of: try AppData(json: json))
            default:
                return .skipped("model \(vector.text("model") ?? "?")")
            }
        } catch {
            return .refusedOrAcceptedWrongly("\(error)")
        }
    }

    private func fields(
        of model: some AppStoreModel, unknowns: [UnknownValue] = []
    ) -> SignedDataVector.Outcome {
        let wire = WireValue(model)
        for (name, expected) in vector.entry.member("expect_fields")?.members ?? [] {
            let path = name.text ?? ""
            guard wire.at(path).equals(expected) else {
                return .wrongFields("\(path) is \(wire.at(path)), expected \(expected.source)")
            }
        }
        for path in vector.texts("unknown_enum_fields") {
            guard unknowns.contains(where: { $0.field.hasSuffix("." + path) }) else {
                return .wrongFields("\(path) was not kept as unknown")
            }
        }
        return .passed
    }

    private func configurationOutcome() -> SignedDataVector.Outcome {
        let name = vector.entry.member("arguments")?.member("environment")?.text ?? ""
        return AppStoreEnvironment(rawValue: name) == nil
            ? .passed : .refusedOrAcceptedWrongly("\(name) can be configured")
    }

    // MARK: - Requests

    private var arguments: JSONValue? { vector.entry.member("arguments") }

    private var askedID: String {
        arguments?.member("transactionId")?.text ?? arguments?.member("anyTransactionId")?.text
            ?? ""
    }

    /// What is wrong with the call that we make; `nil` too where we never make this one, because a
    /// run asks without filters and always in ascending order.
    private func requestFailure(_ endpoint: String) async -> String? {
        guard let expected = vector.entry.member("request"), !expected.isNull else { return nil }
        if endpoint.contains("/history") || arguments?.member("status")?.isArray == true {
            return nil
        }
        guard let id = TransactionID(askedID) else { return "the id is refused, nothing is asked" }
        let sender = RecordingSender(outcome: .rateLimited)
        let client = Self.client(sender)
        do {
            if endpoint.contains("/subscriptions/") {
                _ = try await client.subscriptionStatuses(of: id)
            } else {
                _ = try await client.transactionInfo(of: id)
            }
        } catch {
            return "\(error)"
        }
        guard let request = sender.requests.first, sender.requests.count == 1 else {
            return "not exactly one call"
        }
        guard request.method == expected.member("method")?.text,
            request.path == expected.member("path")?.text
        else { return "\(request.method) \(request.path)" }
        return request.query.isEmpty && request.body == nil ? nil : "a query or a body"
    }

    // MARK: - Answers

    private func answerOutcome(_ endpoint: String) async -> SignedDataVector.Outcome {
        let body = Array((vector.text("response_body") ?? "").utf8)
        let status = Int(vector.entry.member("response_status")?.integer ?? 0)
        let expectedError = vector.entry.member("expect_error")
        if status != 200 {
            return expectedError.map { errorOutcome($0, body: body, status: status) }
                ?? .refusedOrAcceptedWrongly("no error is expected")
        }
        let isUndecodableExpected = expectedError?.member("kind")?.text == "undecodable_response"
        do {
            let outcome = try decodedFields(endpoint, body: body)
            return isUndecodableExpected ? .refusedOrAcceptedWrongly("it was decoded") : outcome
        } catch {
            return isUndecodableExpected ? .passed : .refusedOrAcceptedWrongly("\(error)")
        }
    }

    private func decodedFields(
        _ endpoint: String, body: [UInt8]
    ) throws -> SignedDataVector.Outcome {
        switch endpoint {
        case Self.endpoints[0]: fields(of: try StatusResponse(json: body))
        case Self.endpoints[1]: fields(of: try TransactionInfoResponse(json: body))
        case Self.endpoints[2]:
            try {
                let response = try HistoryResponse(json: body)
                return fields(of: response, unknowns: response.unknowns)
            }()
        default: fields(of: try NotificationHistoryResponse(json: body))
        }
    }

    /// Code, message and HTTP status; names of codes, retrying and waiting are not of this part.
    private func errorOutcome(
        _ expected: JSONValue, body: [UInt8], status: Int
    ) -> SignedDataVector.Outcome {
        let payload = ErrorPayload(body: body)
        if let code = expected.member("code"), code.integer != payload.errorCode.map(Int64.init) {
            return .wrongFields("code \(payload.errorCode.map(String.init) ?? "absent")")
        }
        if let message = expected.member("message"), message.text != payload.errorMessage {
            return .wrongFields("message \(payload.errorMessage ?? "absent")")
        }
        return expected.member("http_status")?.integer == Int64(status)
            ? .passed : .wrongFields("HTTP status \(status)")
    }

    private static func client(_ sender: RecordingSender) -> AppStoreServerClient {
        AppStoreServerClient(
            sender: sender,
            verifier: SignedDataVerifier(
                app: AppIdentity(bundleID: "com.example", environment: .sandbox),
                appAppleID: nil, verifier: TestVerifiers.trustingNothing))
    }
}
