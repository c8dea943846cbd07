import GRDB
import Subscriptions

extension FieldValue {
    /// As it is bound to a statement.
    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .text(let text): text.databaseValue
        case .integer(let number): number.databaseValue
        case .time(let time): time.unixMilliseconds.databaseValue
        }
    }

    /// The same for lists: GRDB takes these over without going through a key path for each.
    var boundValue: (any DatabaseValueConvertible)? { databaseValue }
}
