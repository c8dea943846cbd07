/// One row for each key, whatever the table has.
///
/// Databases give rows of one key in no order, and not the same one every time. So which of them is
/// judged is decided here, by what we read in them: every night and for every database alike.
extension CompanyPage {
    /// Makes a page of what was read.
    ///
    /// - Parameters:
    ///   - found: The texts of `TableMapping.readColumns`, in the order of the key, of up to one row
    ///     more than the page may have: it tells whether the last key goes on.
    ///   - limit: How many rows the page may have.
    ///   - statements: What they were read by.
    package init(of found: [[String?]], limit: Int, by statements: MappedStatements) {
        var kept = found[...]
        if found.count > limit, let beyond = found.last.map(statements.cursor) {
            kept = found.prefix(limit)
            while let last = kept.last, statements.cursor(of: last) == beyond { kept.removeLast() }
            // More rows with one key than a page has: those beyond are not counted.
            if kept.isEmpty { kept = found.prefix(limit) }
        }
        self.init(
            rows: Self.onePerKey(kept.map(statements.mapping.row)),
            next: found.count > limit ? kept.last.map(statements.cursor) : nil)
    }

    private static func onePerKey(_ read: [CompanyRow]) -> [CompanyRow] {
        var rows: [CompanyRow] = []
        for row in read {
            guard var held = rows.last, held.key == row.key else {
                rows.append(row)
                continue
            }
            let twins = held.twins &+ 1
            if held.precedes(row) { held = row }
            held.twins = twins
            rows[rows.count &- 1] = held
        }
        return rows
    }
}

extension CompanyRow {
    /// The columns by which a row is likelier to be the current one, then all the others.
    private static let compared: [SubscriptionField] =
        [.expiresDate, .latestTransactionID]
        + SubscriptionField.allCases.filter { $0 != .expiresDate && $0 != .latestTransactionID }

    /// Whether another row of the same key is the one to judge.
    fileprivate func precedes(_ other: CompanyRow) -> Bool {
        for field in Self.compared {
            let mine = rank(of: field)
            let theirs = other.rank(of: field)
            guard mine == theirs else { return mine < theirs }
        }
        return (version ?? 0) < (other.version ?? 0)
    }

    /// Longer texts are greater, as longer ids are newer.
    private func rank(of field: SubscriptionField) -> (Int, Int64, String) {
        switch values[field] {
        case .integer(let number): (2, number, "")
        case .time(let time): (2, time.unixMilliseconds, "")
        case .text(let text): (2, Int64(text.utf8.count), text)
        case .null, nil: (unreadable[field] == nil ? 0 : 1, 0, unreadable[field] ?? "")
        }
    }
}
