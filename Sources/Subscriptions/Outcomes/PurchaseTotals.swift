/// A one-time purchase that a run compared with Apple's statements.
package struct JudgedPurchase: Hashable, Sendable {
    package enum Verdict: Int64, Hashable, Sendable {
        case match = 1
        /// It differs, it is not stored, or Apple does not know it.
        case discrepancy = 2
        /// Apple's statement cannot be compared with the row, or is too young.
        case undecided = 3
    }

    package var key: TransactionKey
    package var verdict: Verdict

    package init(key: TransactionKey, verdict: Verdict) {
        self.key = key
        self.verdict = verdict
    }
}

/// The one-time purchases of a run's apps by what the run did with them, so that its numbers add up to the
/// table.
///
/// `stored` = `matched` + `discrepant` + `undecided` + `notChecked`.
package struct PurchaseTotals: Hashable, Sendable, Codable {
    /// In the table as the run ended.
    package var stored: Int
    package var matched: Int
    /// They differed, Apple does not know them, or the run inserted them.
    package var discrepant: Int
    package var undecided: Int
    /// The discrepant ones of which a correction was written, those that it inserted included.
    package var corrected: Int
    /// The corrected ones that were not in the table before.
    package var inserted: Int
    /// Apple signed them, and they were not in the table as the run ended; not among `stored`.
    package var missing: Int

    package init(
        stored: Int, matched: Int = 0, discrepant: Int = 0, undecided: Int = 0, corrected: Int = 0,
        inserted: Int = 0, missing: Int = 0
    ) {
        self.stored = stored
        self.matched = matched
        self.discrepant = discrepant
        self.undecided = undecided
        self.corrected = corrected
        self.inserted = inserted
        self.missing = missing
    }

    /// Those that the run compared with a statement of Apple's.
    package var checked: Int { matched &+ discrepant &+ undecided }
    package var notChecked: Int { stored &- checked }
}

extension PurchaseTotals {
    /// The counts by the names that files give them.
    package var counts: [String: Int64] {
        [
            "corrected": corrected, "discrepant": discrepant, "inserted": inserted,
            "matched": matched, "missing": missing, "not_checked": notChecked, "stored": stored,
            "undecided": undecided,
        ].mapValues(Int64.init(clamping:))
    }

    package var json: CanonicalJSON { .object(counts.mapValues(CanonicalJSON.integer)) }
}
