/// One column of the ledger in the database, as it stands there.
package enum LedgerCell: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    /// A number with a fraction or bytes, which no column of the ledger holds.
    case other
}

/// Hands out every row of the ledger in the database, by column, in the order of the numbers.
///
/// Whoever opens the database reads it for the audit and passes the columns on as they are: what
/// they mean, and whether it holds, is found out here without the code that wrote them.
package typealias LedgerReading = (_ body: ([String: LedgerCell]) throws -> Void) throws -> Void
