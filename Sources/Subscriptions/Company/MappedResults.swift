/// The outcome of a write, seen in the transaction that made it.
///
/// A database may take a statement and do something else: a trigger changes or skips what is
/// written, a rule replaces it, a policy hides the row. Nothing counts as written that is not there
/// afterwards.
extension MappedStatements {
    /// The fate of a write that was executed.
    ///
    /// - Parameters:
    ///   - change: In our columns and forms.
    ///   - affected: How many rows the database says that it changed.
    ///   - before: The texts of `TableMapping.readColumns` that the write was made from; `nil`
    ///     where no row had the key.
    ///   - after: The same of the rows that have the key now, read again.
    /// - Returns: Where it is `.refused`, the write must be rolled back.
    package func fate(
        of change: CompanyChange, affected: Int, from before: [String?]?, to after: [[String?]]
    ) -> CompanyWriteFate {
        guard affected < 2 else { return .refused("several rows have its key") }
        guard after.count < 2 else {
            guard let latest = mapping.latestBy else {
                return .refused("several rows have its key")
            }
            return .refused(
                "several rows of the subscription would be its latest by `\(latest)`, so it would be "
                    + "unclear which one counts; correct the rows by hand")
        }
        guard affected == 1 else {
            // Whoever changed it meanwhile has the newer value; otherwise the database itself
            // skipped it.
            return after.first == before
                ? .refused(
                    "the table took the change and stayed as it was: a trigger, a rule or a policy "
                        + "of the table skips it")
                : .stale
        }
        guard change.action != .delete else {
            return after.isEmpty
                ? .applied(version: nil)
                : .refused("the row is still there after it was deleted")
        }
        guard let texts = after.first else {
            return .refused(
                "no row has its key after the change: a trigger, a rule or a policy of the table "
                    + "removes it")
        }
        let row = mapping.row(of: texts)
        if let other = otherLatest(than: change, from: before, in: row) { return .refused(other) }
        let changed = mapping.kind.fields.first { !isKept(change, $0, in: row) }
        if let changed {
            return .refused(
                "the column for \(changed.name) has another value than the one that was "
                    + "written: a trigger or a rule of the table changes it")
        }
        return .applied(version: row.version)
    }

    /// Whether the value of a column is as it was written, as far as the column keeps it.
    private func isKept(
        _ change: CompanyChange, _ field: MappedField, in row: CompanyRow
    ) -> Bool {
        guard let value = change.after[field], mapping.writable.contains(field) else { return true }
        // What was not there and need not be is not part of an inserted row: a default may be
        // there.
        if value.isEmpty, (change.before[field] ?? .null).isEmpty { return true }
        return row.unreadable[field] == nil
            && isSame(row.values[field] ?? .null, value, in: field)
    }

    /// Returns why the written row is not the one that counts for the subscription, in a table with
    /// a row for each transaction; `nil` where it is.
    private func otherLatest(
        than change: CompanyChange, from before: [String?]?, in row: CompanyRow
    ) -> String? {
        guard let latest = mapping.latestBy, mapping.columns[.latestTransactionID] != nil else {
            return nil
        }
        let wanted =
            change.after[.latestTransactionID]
            ?? before.flatMap { mapping.row(of: $0).values[.latestTransactionID] } ?? .null
        let found = row.values[.latestTransactionID] ?? .null
        guard !wanted.isEmpty, !isSame(found, wanted, in: .latestTransactionID) else { return nil }
        return
            "the row of another transaction stays the latest of the subscription by `\(latest)`, "
            + "and the one of Apple's transaction would not count; correct that row by hand, or "
            + "delete it"
    }

    /// Looks for a row of the transaction that a change would insert: it would be there twice.
    ///
    /// - Parameter change: In our columns and forms.
    /// - Returns: A query that finds a row where there is one; `nil` where no transaction is
    ///   inserted.
    package func rowOfTransaction(_ change: CompanyChange) -> MappedStatement? {
        guard mapping.latestBy != nil, change.action == .update,
            let transaction = change.after[.latestTransactionID], !transaction.isEmpty,
            case .column(let name, _) = mapping.columns[.latestTransactionID],
            let literal = mapping.literal(transaction, in: .latestTransactionID)
        else { return nil }
        var list = ArgumentList(dialect: dialect)
        guard let terms = identity(of: change.key, &list) else { return nil }
        let mark = list.mark(literal)
        return query("1", where: terms + ["\(column(name)) = \(mark)"], " LIMIT 1", list)
    }

    /// The reason why nothing is inserted where `rowOfTransaction` finds a row.
    package static let transactionIsThere =
        "the table has a row of Apple's transaction, which is not the latest of the subscription; "
        + "correct the rows by hand"
}
