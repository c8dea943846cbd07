import Foundation
import Testing

extension Tampering {
    /// What findings say of the payloads that they rest on; digests and the chain are computed anew.
    static let findings = [
        edited(
            "a finding's status is one that the transaction denies",
            names: "its apple_value is 5, but the signed transaction is not revoked",
            where: { $0["field"] as? String == "status" && ($0["apple_value"] as? Int ?? 5) < 5 },
            { $0["apple_value"] = 5 }),
        edited(
            "a finding's status is none", names: "its apple_value is not a status",
            where: {
                $0["kind"] as? String != "contradiction" && $0["field"] as? String == "status"
            },
            { $0["apple_value"] = "active" }),
        edited(
            "a finding is dated after Apple signed", names: "its apple_as_of is after Apple signed",
            where: { $0["kind"] as? String == "expiry" },
            { $0["apple_as_of"] = "2031-01-01T00:00:00.000Z" }),
        edited(
            "a finding names another transaction", names: "not of its transaction_id",
            where: { $0["kind"] as? String == "expiry" },
            { $0["transaction_id"] = "2999999999999999" }),
    ]

    /// A finding of the first night, edited as if nobody else had to agree.
    private static func edited(
        _ name: String, names named: String,
        where isMeant: @escaping @Sendable ([String: Any]) -> Bool,
        _ edit: @escaping @Sendable (inout [String: Any]) -> Void
    ) -> Tampering {
        Tampering(name, names: "discrepancies.jsonl:", named) { reports in
            let place = try #require(
                try reports.objects(Night.first, "discrepancies.jsonl").firstIndex(where: isMeant))
            try reports.edit(Night.first, "discrepancies.jsonl", line: place) { edit(&$0) }
            try reports.relink(from: Night.first)
        }
    }
}
