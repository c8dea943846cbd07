import AppStoreSimulation
import Crypto
import Foundation
import Subscriptions

/// A client of an in-process simulator: tokens, requests, and payloads decoded without verification.
struct SimulatorClient {
    let simulator: AppStoreSimulator
    let key: P256.Signing.PrivateKey
    /// The app whose store is simulated.
    var app: SimulatedApp { simulator.report.app }
    /// The token of requests that are not about tokens.
    private var usualToken = ""

    init(
        customers: Int = 60, seed: UInt64 = 1, drift: Double? = nil,
        now: String? = "2026-11-20T03:00:00Z",
        change: (inout SimulatorSettings) -> Void = { _ in }
    ) throws {
        let folder =
            FileManager.default.temporaryDirectory.path + "/simulation-" + UUID().uuidString
        var settings = SimulatorSettings(folder: folder)
        settings.customers = customers
        settings.seed = seed
        settings.drift = drift
        settings.now = now.flatMap { Timestamp(rfc3339: $0) }
        change(&settings)
        simulator = try AppStoreSimulator(settings: settings)
        key = try P256.Signing.PrivateKey(
            pemRepresentation: String(contentsOfFile: simulator.report.keyFile, encoding: .utf8))
        usualToken = try token()
    }

    func token(
        header: [String: Any] = [:], claims: [String: Any] = [:],
        key other: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let now = Date().timeIntervalSince1970.rounded()
        var head: [String: Any] = ["alg": "ES256", "kid": app.keyID, "typ": "JWT"]
        head.merge(header) { $1 }
        var body: [String: Any] = [
            "iss": app.issuerID, "iat": now, "exp": now + 300, "aud": "appstoreconnect-v1",
            "bid": app.bundleID,
        ]
        body.merge(claims) { $1 }
        let parts = try [head, body.filter { !($0.value is NSNull) }].map {
            Self.base64URL(try JSONSerialization.data(withJSONObject: $0))
        }
        let signed = parts.joined(separator: ".")
        let signature = try (other ?? key).signature(for: Data(signed.utf8))
        return signed + "." + Self.base64URL(signature.rawRepresentation)
    }

    func get(
        _ target: String, environment: SimulatedEnvironment = .production, token: String? = nil
    ) throws -> Answer {
        try ask(
            ServiceRequest(
                method: "GET", target: target,
                authorization: "Bearer " + (token ?? usualToken)), environment)
    }

    func post(
        _ target: String, _ body: [String: Any], environment: SimulatedEnvironment = .production
    ) throws -> Answer {
        try send("POST", target, body, environment: environment)
    }

    func put(_ target: String, _ body: [String: Any]) throws -> Answer {
        try send("PUT", target, body)
    }

    func send(
        _ method: String, _ target: String, _ body: [String: Any],
        environment: SimulatedEnvironment = .production
    ) throws -> Answer {
        try ask(
            try ServiceRequest(
                method: method, target: target, authorization: "Bearer " + usualToken,
                body: Array(JSONSerialization.data(withJSONObject: body, options: .sortedKeys))),
            environment)
    }

    private func ask(
        _ request: ServiceRequest, _ environment: SimulatedEnvironment
    ) throws -> Answer {
        let answer = simulator.answer(request, in: environment)
        let json = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        return Answer(status: answer.status, json: json ?? [:], raw: answer)
    }

    func control(_ method: String, _ target: String, _ body: [String: Any] = [:]) throws -> Answer {
        let bytes = Array(try JSONSerialization.data(withJSONObject: body))
        let answer = simulator.answerControl(
            ServiceRequest(method: method, target: target, body: bytes))
        let json = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        return Answer(status: answer.status, json: json ?? [:], raw: answer)
    }

    /// Lets the simulator listen while `body` runs.
    func whileListening<Value: Sendable>(
        _ body: @escaping @Sendable (SimulatorReport) async throws -> Value
    ) async throws -> Value {
        let (reports, continuation) = AsyncStream.makeStream(of: SimulatorReport.self)
        let serving = Task { try await simulator.run { continuation.yield($0) } }
        defer { serving.cancel() }
        for await report in reports { return try await body(report) }
        throw CancellationError()
    }

    /// One id of every subscription, from the table file.
    func tableRows() throws -> [[String: String]] {
        guard let path = simulator.report.tableFile else { return [] }
        return Self.rows(of: try String(contentsOfFile: path, encoding: .utf8))
    }

    /// The rows of a table as CSV.
    static func rows(of csv: String) -> [[String: String]] {
        let lines = csv.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        let names = lines[0].components(separatedBy: ",")
        return lines.dropFirst().map { line in
            Dictionary(uniqueKeysWithValues: zip(names, line.components(separatedBy: ",")))
        }
    }

    /// The statements of a status answer, by original transaction id.
    func statements(_ id: String) throws -> [String: Statement] {
        let answer = try get("/inApps/v1/subscriptions/\(id)")
        var found: [String: Statement] = [:]
        for group in answer.json["data"] as? [[String: Any]] ?? [] {
            for entry in group["lastTransactions"] as? [[String: Any]] ?? [] {
                guard let id = entry["originalTransactionId"] as? String,
                    let status = entry["status"] as? Int,
                    let transaction = entry["signedTransactionInfo"] as? String,
                    let renewal = entry["signedRenewalInfo"] as? String
                else { continue }
                found[id] = Statement(
                    status: status, transaction: try Self.payload(transaction),
                    renewal: try Self.payload(renewal))
            }
        }
        return found
    }

    static func payload(_ jws: String) throws -> [String: Any] {
        let (bytes, dot) = (Array(jws.utf8), UInt8(ascii: "."))
        guard let head = bytes.firstIndex(of: dot), let end = bytes.lastIndex(of: dot), head < end,
            let data = data(base64URL: Array(bytes[(head + 1)..<end]))
        else { return [:] }
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }

    static func data(base64URL text: String) -> Data? { data(base64URL: Array(text.utf8)) }

    /// Byte by byte: texts are compared by characters, which takes long over thousands of payloads.
    private static func data(base64URL text: [UInt8]) -> Data? {
        var bytes = text
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "-"): bytes[index] = UInt8(ascii: "+")
            case UInt8(ascii: "_"): bytes[index] = UInt8(ascii: "/")
            default: break
            }
        }
        bytes += Array(repeating: UInt8(ascii: "="), count: (4 - bytes.count % 4) % 4)
        return Data(base64Encoded: Data(bytes))
    }

    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}

struct Answer {
    let status: Int
    let json: [String: Any]
    let raw: ServiceAnswer

    var errorCode: Int? { json["errorCode"] as? Int }
}

struct Statement {
    let status: Int
    let transaction: [String: Any]
    let renewal: [String: Any]

    func date(_ name: String) -> Int64? {
        (transaction[name] ?? renewal[name]) as? Int64
    }
}
