extension TableMapping {
    /// Why a correction of a row cannot be taken back in this table, as far as the mapping tells.
    ///
    /// The write itself looks again; this says it before, to whoever looks what an undo would do.
    ///
    /// - Parameters:
    ///   - action: What would take it back.
    ///   - fields: The columns that this changes.
    /// - Returns: `nil` where nothing of the mapping is against it.
    package func obstacle(
        toUndoBy action: RowAction, of fields: Set<SubscriptionField>
    ) -> String? {
        switch action {
        case .delete:
            return latestBy == nil
                ? nil : "the table has a row for each transaction; delete that row by hand"
        case .insert:
            return inserts == nil
                ? "`store.subscriptions.insert` does not allow rows to be inserted" : nil
        case .update:
            return latestBy != nil && fields.intersection(writable).contains(.latestTransactionID)
                ? "the row of the later transaction was inserted; delete it by hand" : nil
        }
    }
}

extension UndoItem {
    /// The same, as far as the company's own table allows it.
    ///
    /// - Parameter mapping: How that is written; `nil` where there is none.
    /// - Returns: A conflict in place of what the table does not allow.
    package func allowed(by mapping: TableMapping?) -> UndoItem {
        guard case .ready(let inverse) = standing,
            let why = mapping?.obstacle(
                toUndoBy: inverse.action, of: Set(inverse.changes.ofSubscription.keys))
        else { return self }
        return UndoItem(entry: entry, standing: .conflict(.table(why)))
    }
}
