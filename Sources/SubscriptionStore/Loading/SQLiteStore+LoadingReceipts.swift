import GRDB
package import Subscriptions

extension SQLiteStore {
    /// Loads the rows that receipts name, all of a receipt's or none.
    ///
    /// A customer's receipts name the same subscriptions again and again: what agrees is loaded once,
    /// and of a customer or token that only one of them gives, that. A receipt that names another
    /// customer or token for a subscription than an earlier one is a `.duplicateKey`.
    ///
    /// - Parameters:
    ///   - columns: The columns that the file has, besides the receipt.
    ///   - dryRun: Only counts what would change; needs no right to write.
    ///   - produce: Hands over the rows of each receipt and which columns its line gives, as with
    ///     `loadSubscriptions`; if it throws, nothing is loaded and the error passes.
    /// - Returns: How many subscriptions changed what.
    /// - Throws: `StoreError`, or what `produce` throws.
    package func loadReceipts(
        columns: Set<SubscriptionField>, dryRun: Bool = false,
        _ produce: (_ add: ([LocalSubscription], UInt64?) throws -> LineOutcome) throws -> Void
    ) throws -> LoadCounts {
        let table = StagedTable.subscriptions(giving: columns)
        let fields = SubscriptionField.allCases
        let completion = table.complete(["customer_id", "app_account_token"])
        return try load(into: table, dryRun: dryRun, produce) { rows, given, stage in
            try stage.addTogether { stage in
                var outcome = rows.isEmpty ? LineOutcome.accepted : .repeated
                for row in rows {
                    let outcomeOfRow = try stage.add(fields, given: given) { row.value(of: $0) }
                    if outcomeOfRow == .accepted {
                        outcome = .accepted
                    } else {
                        try stage.db.cachedStatement(sql: completion).execute(
                            arguments: Self.completion(row, given))
                        guard stage.db.changesCount > 0 else { return .duplicateKey }
                    }
                }
                return outcome
            }
        }
    }

    private static func completion(
        _ row: LocalSubscription, _ given: UInt64?
    ) -> StatementArguments {
        [
            row.customerID, row.appAccountToken, given.map { Int64(bitPattern: $0) },
            row.key.bundleID, row.key.environment, row.key.originalTransactionID,
            row.customerID, row.appAccountToken,
        ]
    }
}
