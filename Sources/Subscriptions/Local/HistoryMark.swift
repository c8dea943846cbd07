/// The stored periods of one subscription in short: their number, and a digest of what is compared.
package struct PeriodsDigest: Hashable, Sendable {
    package var periods: Int
    /// SHA-256 in hexadecimal over ids, line items, prices and currencies, and over which other
    /// columns that Apple states of every period are empty.
    package var sha256: String

    package init(periods: Int, sha256: String) {
        self.periods = periods
        self.sha256 = sha256
    }
}

/// How far a subscription's history was read, and what stood in our table then.
package struct HistoryMark: Hashable, Sendable {
    /// Where the next reading begins.
    package var revision: String
    /// The stored periods that were compared; `nil` where they are not known.
    package var periods: PeriodsDigest?

    package init(revision: String, periods: PeriodsDigest?) {
        self.revision = revision
        self.periods = periods
    }
}
