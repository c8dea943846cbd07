import Foundation
import ReportAudit
import TestSupport
import Testing

/// What findings of each kind say, against the payload that they name.
@Suite struct `A finding is held against its payload` {
    private static let signed = HandMadeReports.signedDate
    private static let milliseconds = HandMadeReports.signedMilliseconds

    /// One honest finding, and edits of it that each must be found.
    struct Example: Sendable, CustomTestStringConvertible {
        let kind: String
        /// The payload; `nil` for the usual transaction.
        var payload: String?
        let members: [String: Member]
        let edits: [(member: String, value: Member, problem: String)]

        var testDescription: String { kind }
    }

    enum Member: Sendable {
        case text(String)
        case number(Int)

        var value: Any {
            switch self {
            case .text(let text): text
            case .number(let number): number
            }
        }
    }

    private static func payload(_ members: String) -> String {
        "{\"originalTransactionId\":\"\(HandMadeReports.id)\",\"signedDate\":\(milliseconds),\(members)}"
    }

    static let examples: [Example] = [
        Example(
            kind: "missing_locally",
            payload: payload(
                """
                "bundleId":"com.example.app","environment":"Production","currency":"EUR",\
                "expiresDate":1764608625000,"price":4990,"productId":"pro.monthly",\
                "transactionId":"2000000000000009"
                """),
            members: [
                "amount": .number(4990), "apple_as_of": .text(signed), "apple_value": .number(1),
                "currency": .text("EUR"), "direction": .text("customer_loses"),
                "product_id": .text("pro.monthly"), "severity": .text("critical"),
                "transaction_id": .text("2000000000000009"),
            ],
            edits: [
                ("apple_value", .number(5), "is not revoked"),
                ("apple_value", .number(2), "the signed transaction continues"),
                ("apple_value", .text("1"), "is not a status"),
                ("severity", .text("high"), "its severity is high"),
                ("amount", .number(1), "is not the price that Apple signed"),
                ("currency", .text("USD"), "is not the price that Apple signed"),
                ("product_id", .text("basic"), "its product_id is"),
                ("transaction_id", .text("2999999999999999"), "not of its transaction_id"),
                ("apple_as_of", .text("2031-01-01T00:00:00.000Z"), "is after Apple signed"),
            ]),
        Example(
            kind: "wrong_app",
            payload: payload(
                """
                "bundleId":"com.example.other","environment":"Production",\
                "transactionId":"2000000000000009"
                """),
            members: [
                "apple_value": .text("com.example.other"), "field": .text("bundle_id"),
                "local_value": .text("com.example.app"),
            ],
            edits: [
                ("apple_value", .text("com.example.third"), "its apple_value is"),
                ("local_value", .text("com.example.third"), "its local_value is not its app"),
                ("original_transaction_id", .text("2999999999999999"), "its evidence is about"),
                ("kind", .text("wrong_environment"), "names the row's own environment"),
            ]),
        Example(
            kind: "wrong_environment",
            payload: payload(
                """
                "bundleId":"com.example.app","environment":"Sandbox",\
                "transactionId":"2000000000000009"
                """),
            members: [
                "apple_value": .text("Sandbox"), "field": .text("environment"),
                "local_value": .text("Production"),
            ],
            edits: [
                ("apple_value", .text("Xcode"), "its apple_value is"),
                ("local_value", .text("Sandbox"), "its local_value is not its environment"),
                ("original_transaction_id", .text("2999999999999999"), "its evidence is about"),
                ("kind", .text("wrong_app"), "names the row's own app"),
            ]),
        Example(
            kind: "migrated",
            payload: """
                {"bundleId":"com.example.app","environment":"Production",\
                "originalTransactionId":"3000000000000001",\
                "previousOriginalTransactionId":"\(HandMadeReports.id)",\
                "signedDate":\(milliseconds),"transactionId":"3000000000000001"}
                """,
            members: [
                "apple_as_of": .text(signed), "apple_value": .text("3000000000000001"),
                "field": .text("original_transaction_id"),
                "local_value": .text(HandMadeReports.id),
                "transaction_id": .text("3000000000000001"),
            ],
            edits: [
                ("apple_value", .text("3000000000000002"), "its apple_value is"),
                ("local_value", .text("3000000000000002"), "its local_value is not"),
                ("transaction_id", .text("3000000000000002"), "not of its transaction_id"),
                ("apple_as_of", .text("2020-01-01T00:00:00.000Z"), "is not when Apple signed"),
            ]),
        Example(
            kind: "invalid_id",
            payload: """
                {"bundleId":"com.example.app","environment":"Production",\
                "originalTransactionId":"1000000000000001","signedDate":\(milliseconds),\
                "transactionId":"\(HandMadeReports.id)"}
                """,
            members: [
                "apple_as_of": .text(signed), "apple_value": .text("1000000000000001"),
                "field": .text("original_transaction_id"),
                "local_value": .text(HandMadeReports.id),
            ],
            edits: [
                ("apple_value", .text("3000000000000002"), "its apple_value is"),
                ("apple_as_of", .text("2020-01-01T00:00:00.000Z"), "is not when Apple signed"),
            ]),
        Example(
            kind: "transaction_missing",
            payload: payload(
                """
                "bundleId":"com.example.app","environment":"Production","currency":"EUR",\
                "price":9990,"transactionId":"2000000000000009"
                """),
            members: [
                "apple_as_of": .text(signed), "apple_value": .text("2000000000000009"),
                "field": .text("2000000000000009"), "amount": .number(9990),
                "currency": .text("EUR"),
                "direction": .text("neutral"),
            ],
            edits: [
                ("apple_value", .text("2000000000000008"), "its apple_value is"),
                ("field", .text("2000000000000008"), "not of its field"),
                ("amount", .number(1), "is not the price that Apple signed"),
            ]),
        Example(
            kind: "price",
            payload: payload(
                """
                "bundleId":"com.example.app","environment":"Production","currency":"EUR",\
                "price":9990,"transactionId":"2000000000000009"
                """),
            members: [
                "apple_as_of": .text(signed), "apple_value": .number(9990),
                "field": .text("price:2000000000000009"), "local_value": .number(9000),
                "amount": .number(990), "currency": .text("EUR"), "direction": .text("neutral"),
            ],
            edits: [
                ("apple_value", .number(1), "its apple_value is"),
                ("amount", .number(1), "differs by"),
                ("apple_as_of", .text("2020-01-01T00:00:00.000Z"), "is not when Apple signed"),
            ]),
        Example(
            kind: "overlapping_subscriptions",
            members: [
                "apple_as_of": .text(signed), "apple_value": .text("2025-12-01T17:03:45.000Z"),
                "field": .text("paid_elsewhere_until"),
                "transaction_id": .text("2000000000000009"),
            ],
            edits: [
                ("apple_value", .text("2031-01-01T00:00:00.000Z"), "its apple_value is"),
                ("transaction_id", .text("2000000000000008"), "not of its transaction_id"),
            ]),
        Example(
            kind: "resurrected",
            members: [
                "apple_as_of": .text(signed), "apple_value": .text("3000000000000001"),
                "field": .text("original_transaction_id"),
                "local_value": .text(HandMadeReports.id),
                "transaction_id": .text("2000000000000009"),
            ],
            edits: [
                ("local_value", .text("3000000000000001"), "its local_value is not"),
                ("transaction_id", .text("2000000000000008"), "not of its transaction_id"),
            ]),
        Example(
            kind: "unknown_value",
            payload: payload(
                """
                "bundleId":"com.example.app","environment":"Production","offerType":7,\
                "transactionId":"2000000000000009"
                """),
            members: [
                "apple_value": .text("7"), "field": .text("transaction.offerType"),
                "severity": .text("info"),
            ],
            edits: [
                ("apple_value", .text("8"), "the signed payload says 7"),
                ("field", .text("transaction.seatPlan"), "has no field seatPlan"),
            ]),
        Example(
            kind: "notification_missed",
            payload: """
                {"data":{"appAppleId":1234567890,"bundleId":"com.example.app",\
                "environment":"Production"},"notificationType":"REFUND",\
                "notificationUUID":"0b3f1a52-6d67-4f06-8a73-6e4e7cdd52d1",\
                "signedDate":\(milliseconds),"version":"2.0"}
                """,
            members: [
                "action": .text("recovered"), "apple_as_of": .text(signed),
                "apple_value": .text("REFUND"),
                "field": .text("0b3f1a52-6d67-4f06-8a73-6e4e7cdd52d1"),
                "state": .text("corrected"), "original_transaction_id": .text(""),
            ],
            edits: [
                ("apple_value", .text("TEST"), "its apple_value is"),
                ("field", .text("1b3f1a52-6d67-4f06-8a73-6e4e7cdd52d1"), "not of its field"),
                ("apple_as_of", .text("2020-01-01T00:00:00.000Z"), "is not when Apple signed"),
                ("state", .text("open"), "its action is recovered, but its state is open"),
            ]),
    ]

    private func problems(
        _ example: Example, _ edit: (member: String, value: Member)? = nil
    ) async throws -> [String] {
        let reports = try HandMadeReports()
        var finding = example.members.mapValues(\.value)
        finding["kind"] = example.kind
        if let payload = example.payload { finding["evidence"] = try reports.sign(payload) }
        if finding["original_transaction_id"] as? String == "" {
            finding["original_transaction_id"] = NSNull()
        }
        if let edit { finding[edit.member] = edit.value.value }
        try reports.addNight([], findings: [finding])
        return try await reports.audit().problems
    }

    @Test(arguments: examples)
    func `and passes as it was written`(example: Example) async throws {
        let problems = try await problems(example)
        #expect(problems == [])
    }

    @Test(arguments: examples)
    func `and each edited value is named`(example: Example) async throws {
        for edit in example.edits {
            let problems = try await problems(example, (edit.member, edit.value))
            #expect(
                problems.contains {
                    $0.contains("discrepancies.jsonl:1") && $0.contains(edit.problem)
                },
                "\(edit.member): \(problems)")
        }
    }

    @Test func `but a doubted status of a missing purchase may be denied`() async throws {
        let reports = try HandMadeReports()
        let shared: [String: Any] = ["apple_value": 2, "severity": "high"]
        try reports.addNight(
            [],
            findings: [
                shared.merging(["kind": "contradiction", "field": "status"]) { $1 },
                shared.merging(["kind": "missing_locally"]) { $1 },
            ])
        #expect(try await reports.audit().problems == [])
    }
}

/// What was erased, whatever the clocks say.
@Suite struct `A tombstone` {
    private typealias Correction = HandMadeReports.Correction

    @Test(arguments: ["2020-01-01T00:00:00.000Z", "2031-01-01T00:00:00.000Z"])
    func `of an earlier run's evidence passes under any clock`(time: String) async throws {
        let reports = try HandMadeReports()
        try reports.addNight([
            Correction(before: ["product_id": "basic"], after: ["product_id": "pro.monthly"])
        ])
        reports.erasedAt = time
        try reports.addNight([], listsFinding: true)
        let (_, problems, notes) = try await reports.audit()
        #expect(problems == [])
        #expect(notes.contains { $0.contains("dated after this run ended") } == (time > "2026"))
    }

    @Test(arguments: ["2020-01-01T00:00:00.000Z", "2031-01-01T00:00:00.000Z"])
    func `under a correction of the run itself is found under any clock`(
        time: String
    ) async throws {
        let reports = try HandMadeReports()
        reports.erasedAt = time
        try reports.addNight([
            Correction(before: ["product_id": "basic"], after: ["product_id": "pro.monthly"])
        ])
        let problems = try await reports.audit().problems
        #expect(problems.contains { $0.contains("after its evidence had been erased") })
    }
}
