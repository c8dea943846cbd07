import Reconciliation
import Subscriptions
import Testing

/// Every status of Apple's beside every combination of the signed fields that speak of access.
///
/// Written from docs/promises.md (an unsigned word never takes away access that the signed
/// fields state, nor gives what they deny) and from Apple's description of the fields, not from the
/// code. A dot is a statement that may be taken over, `x` is a contradiction.
@Suite struct `The table of contradictions` {
    struct Line: Sendable, CustomTestStringConvertible {
        let text: String

        var cells: [String] {
            text.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
        }
        var testDescription: String { text }

        func isContradiction(_ status: Int) -> Bool {
            cells[4].split(separator: " ")[status - 1] == "x"
        }
    }

    /// Whether the transaction is revoked, `expiresDate`, `isInBillingRetryPeriod`,
    /// `gracePeriodExpiresDate`; then the statuses 1 to 5.
    static let table: [Line] = [
        "no  | past   | true   | past   | x x . x x",
        "no  | past   | true   | future | . x x . x",
        "no  | past   | true   | absent | x x . . x",
        "no  | past   | false  | past   | x . . x x",
        "no  | past   | false  | future | . x x . x",
        "no  | past   | false  | absent | x . . x x",
        "no  | past   | absent | past   | x . . x x",
        "no  | past   | absent | future | . x x . x",
        "no  | past   | absent | absent | x . . x x",
        "no  | future | true   | past   | . x x x x",
        "no  | future | true   | future | . x x . x",
        "no  | future | true   | absent | . x x . x",
        "no  | future | false  | past   | . x x x x",
        "no  | future | false  | future | . x x . x",
        "no  | future | false  | absent | . x x x x",
        "no  | future | absent | past   | . x x x x",
        "no  | future | absent | future | . x x . x",
        "no  | future | absent | absent | . x x x x",
        "no  | absent | true   | past   | x x . x x",
        "no  | absent | true   | future | . x x . x",
        "no  | absent | true   | absent | x x . . x",
        "no  | absent | false  | past   | . . . x x",
        "no  | absent | false  | future | . x x . x",
        "no  | absent | false  | absent | . . . x x",
        "no  | absent | absent | past   | . . . x x",
        "no  | absent | absent | future | . x x . x",
        "no  | absent | absent | absent | . . . x x",
        "yes | past   | true   | past   | x x . x .",
        "yes | past   | true   | future | x x . x .",
        "yes | past   | true   | absent | x x . x .",
        "yes | past   | false  | past   | x . . x .",
        "yes | past   | false  | future | x . . x .",
        "yes | past   | false  | absent | x . . x .",
        "yes | past   | absent | past   | x . . x .",
        "yes | past   | absent | future | x . . x .",
        "yes | past   | absent | absent | x . . x .",
        "yes | future | true   | past   | x x . x .",
        "yes | future | true   | future | x x . x .",
        "yes | future | true   | absent | x x . x .",
        "yes | future | false  | past   | x . . x .",
        "yes | future | false  | future | x . . x .",
        "yes | future | false  | absent | x . . x .",
        "yes | future | absent | past   | x . . x .",
        "yes | future | absent | future | x . . x .",
        "yes | future | absent | absent | x . . x .",
        "yes | absent | true   | past   | x x . x .",
        "yes | absent | true   | future | x x . x .",
        "yes | absent | true   | absent | x x . x .",
        "yes | absent | false  | past   | x . . x .",
        "yes | absent | false  | future | x . . x .",
        "yes | absent | false  | absent | x . . x .",
        "yes | absent | absent | past   | x . . x .",
        "yes | absent | absent | future | x . . x .",
        "yes | absent | absent | absent | x . . x .",
    ].map(Line.init)

    private func date(_ cell: String) -> Timestamp? {
        switch cell {
        case "past": Sample.now(days: -5)
        case "future": Sample.now(days: 5)
        default: nil
        }
    }

    private func stated(_ line: Line, _ status: Int, _ ownership: String) -> StatedSubscription {
        let cells = line.cells
        return Sample.stated(Sample.id, SubscriptionStatus(rawValue: status)) {
            $0.transaction.revocationDate = cells[0] == "yes" ? Sample.now(days: -1) : nil
            $0.transaction.inAppOwnershipType = ownership
            $0.transaction.expiresDate = date(cells[1])
            $0.renewal.renewalDate = date(cells[1])
            $0.renewal.isInBillingRetryPeriod = ["true": true, "false": false][cells[2]]
            $0.renewal.gracePeriodExpiresDate = date(cells[3])
            $0.renewal.expirationIntent = nil
        }
    }

    @Test(arguments: table, ["PURCHASED", "FAMILY_SHARED"])
    func `what the signed fields say of access is never overruled`(
        line: Line, ownership: String
    ) throws {
        for status in 1...5 {
            let stated = stated(line, status, ownership)
            for ours in 1...5 {
                let row = Sample.row(of: stated) { $0.status = ours }
                let outcome = try outcome(row, beside: stated)
                if line.isContradiction(status) {
                    #expect(outcome.verdict == .undecided(.contradiction), "status \(status)")
                    #expect(outcome.kinds == [.contradiction])
                    #expect(outcome.corrections.isEmpty)
                } else {
                    let expected = ours == status ? Verdict.match : .discrepancy
                    #expect(outcome.verdict == expected, "status \(status), ours \(ours)")
                }
            }
        }
    }

    @Test(arguments: table)
    func `a contradicted word fills no row that is not known yet and inserts none`(
        line: Line
    ) throws {
        for status in 1...5 where line.isContradiction(status) {
            let stated = stated(line, status, "PURCHASED")
            let blank = LocalSubscription(
                key: SubscriptionKey(app: Sample.app, originalTransactionID: Sample.id))
            let filled = try outcome(blank, beside: stated)
            #expect(filled.verdict == .undecided(.contradiction))
            #expect(filled.corrections.isEmpty)
            let other = Sample.stated("3000")
            let row = Sample.row(of: other)
            let missing = try outcome(Sample.item(row, [other, stated]), of: Sample.id)
            #expect(missing.corrections.isEmpty)
        }
    }

    @Test(arguments: table, [0, 6])
    func `a status that is not known decides nothing, whatever is signed`(
        line: Line, status: Int
    ) throws {
        let stated = stated(line, status, "PURCHASED")
        let row = Sample.row(of: stated) { $0.status = 1 }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.verdict == .undecided(.unknownStatus))
        #expect(outcome.corrections.isEmpty)
    }
}
