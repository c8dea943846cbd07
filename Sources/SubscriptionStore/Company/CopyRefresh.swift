package import Subscriptions

/// What a reading of the company's table changed in the copy.
package struct CopyRefresh: Hashable, Sendable {
    package var rows: Int64 = 0
    package var inserted: Int64 = 0
    package var changed: Int64 = 0
    package var deleted: Int64 = 0
    /// Rows with a value that has not the form that the mapping states; they are never written.
    package var unreadable: Int64 = 0
    /// The first of them, by column and stored value.
    package var firstUnreadable: String?
    /// Rows whose key another row has, too; only the first of each counts.
    package var doubled: Int64 = 0
    package var firstDoubled: SubscriptionKey?
    /// Rows that have no key, and so stand in no copy.
    package var keyless = KeylessRows()
    /// Rows whose key is longer than `CopyWriter.longestKeyBytes`, and so stand in no copy either.
    package var overlong: Int64 = 0
    /// The first of them.
    package var firstOverlong: SubscriptionKey?
    /// Whether the table was read to its end; what was read before a stop stands in the copy.
    package var isWhole = true

    package init() {}

    mutating func add(_ other: CopyRefresh) {
        rows &+= other.rows
        inserted &+= other.inserted
        changed &+= other.changed
        deleted &+= other.deleted
        unreadable &+= other.unreadable
        doubled &+= other.doubled
        firstUnreadable = firstUnreadable ?? other.firstUnreadable
        firstDoubled = firstDoubled ?? other.firstDoubled
        overlong &+= other.overlong
        firstOverlong = firstOverlong ?? other.firstOverlong
    }

    /// What a person should know of it, in sentences.
    package var remarks: [String] {
        var remarks: [String] = []
        if unreadable > 0, let firstUnreadable {
            remarks.append(
                unreadable == 1
                    ? "1 row of your table holds a value that `store.subscriptions` does not read, "
                        + "\(firstUnreadable): it is not judged, and never written."
                    : "\(unreadable) rows of your table hold a value that `store.subscriptions` does "
                        + "not read, for example \(firstUnreadable): they are not judged, and never "
                        + "written.")
        }
        if doubled > 0, let firstDoubled {
            remarks.append(
                "\(doubled == 1 ? "1 row" : "\(doubled) rows") of your table "
                    + "\(doubled == 1 ? "has" : "have") the key of another row, for example "
                    + "\(firstDoubled.originalTransactionID): one of each is judged, and none is "
                    + "written.")
        }
        if keyless.count > 0 {
            let columns = keyless.columns.map { "`" + $0 + "`" }.joined(separator: " or ")
            let rows = keyless.count == 1 ? "1 row" : "\(keyless.count) rows"
            remarks.append(
                "\(rows) of your table \(keyless.count == 1 ? "has" : "have") no value (NULL) in "
                    + "\(columns), by which a subscription is found: not read, not judged and in no "
                    + "total. Fill the column in, or take such rows out of the table.")
        }
        if overlong > 0, let firstOverlong {
            let shown = firstOverlong.originalTransactionID.prefix(40)
            let rows =
                overlong == 1
                ? "1 row of your table has an original transaction id"
                : "\(overlong) rows of your table have original transaction ids"
            remarks.append(
                "\(rows) of more than \(CopyWriter.longestKeyBytes) bytes with app and environment, "
                    + "such as \"\(shown)…\": not read, not judged and in no total. Apple's have about "
                    + "15 digits. Correct the column, or take such rows out of the table.")
        }
        return remarks
    }
}
