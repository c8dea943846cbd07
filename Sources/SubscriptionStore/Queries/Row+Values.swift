import GRDB
import Subscriptions

/// Reading that never traps, whatever somebody wrote into a column.
extension Row {
    /// Text as stored; numbers are spelled out.
    func text(at index: Int) -> String? { self[index] }

    /// Text of a column that is never null.
    func requiredText(at index: Int) -> String { self[index] ?? "" }

    /// A whole number; `nil` for anything else that stands there.
    func integer(at index: Int) -> Int64? {
        let value: DatabaseValue = self[index]
        return switch value.storage {
        case .int64(let number): number
        case .double(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// A whole number that fits into `Int`.
    func number(at index: Int) -> Int? { integer(at: index).flatMap(Int.init(exactly:)) }

    /// UNIX milliseconds.
    func time(at index: Int) -> Timestamp? {
        integer(at: index).map(Timestamp.init(unixMilliseconds:))
    }
}
