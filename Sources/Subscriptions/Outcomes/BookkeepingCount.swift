/// How much of one kind of bookkeeping there is, and since when.
package struct BookkeepingCount: Hashable, Sendable {
    package var kind: String
    package var rows: Int
    /// `nil` where there is none.
    package var oldest: Timestamp?

    package init(kind: String, rows: Int, oldest: Timestamp?) {
        self.kind = kind
        self.rows = rows
        self.oldest = oldest
    }
}
