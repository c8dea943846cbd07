import GRDB
import Subscriptions

/// How a check is read from `trueup_checks`.
extension CheckRecord {
    static let columns = ["asked_at", "signed_date", "clock", "is_lasting", "agreed", "account"]

    /// All of them for a `SELECT`, from a table by its alias.
    static func columns(of table: String) -> String {
        columns.map { "\(table).\($0)" }.joined(separator: ", ")
    }

    /// Reads `columns`, the first of them at an index; `nil` without a record.
    init?(_ row: Row, at index: Int) {
        guard let asked = row.time(at: index), let agreed = row.integer(at: index + 4) else {
            return nil
        }
        self.init(
            check: RowCheck(
                signedDate: row.time(at: index + 1), clock: row.time(at: index + 2),
                isLasting: row.integer(at: index + 3) == 1,
                values: ValuesDigest(bits: UInt64(bitPattern: agreed)),
                account: row.integer(at: index + 5).map {
                    AccountDigest(bits: UInt64(bitPattern: $0))
                }),
            askedAt: asked)
    }
}
