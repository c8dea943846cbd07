import Crypto
import Foundation
package import SubscriptionStore
package import Subscriptions

/// What a concluded run says of its pass.
package struct StoredReport: Hashable, Sendable {
    package var totals = RunTotals()
    package var undecided: [SubscriptionKey: UndecidedReason] = [:]
    /// Numbers of the ledger entries that it shows.
    package var entries: [Int64] = []
    package var kinds: [FindingKind] = []
    package var causes: [String] = []

    /// - Returns: `nil` where the run did not come to its end.
    package init?(ofRun runID: String, in store: SQLiteStore) throws {
        guard let record = try? store.runRecord(ofRun: runID) else { return nil }
        totals = try record.summary().totals
        try record.forEachUndecided { undecided[$0.key] = $0.reason }
        try record.forEachCorrection { entries.append($0.number) }
        try record.forEachFinding {
            kinds.append($0.finding.kind)
            if let cause = $0.finding.cause { causes.append(cause) }
        }
    }
}

extension SignedPayload {
    /// A payload whose digest belongs to it.
    package static func made(of text: String) -> SignedPayload {
        let body = Data(text.utf8).base64EncodedString().filter { $0 != "=" }
        let jws = "eyJhbGciOiJFUzI1NiJ9." + body + "." + String(repeating: "A", count: 86)
        let digest = SHA256.hash(data: Data(jws.utf8)).hexadecimal
        return SignedPayload(digest: EvidenceDigest(hexadecimal: digest), jws: jws)
    }
}
