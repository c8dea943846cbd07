import Subscriptions

/// The column `changes` of the ledger: for each changed field its name, the value before and the
/// value after.
///
/// `n` is null, `i5;` an integer, `m5;` a time in UNIX milliseconds, `t2:ab` a text of two bytes.
struct StoredChanges {
    private(set) var before: [String: CanonicalJSON] = [:]
    private(set) var after: [String: CanonicalJSON] = [:]

    init(_ column: String) throws(UnreadableFile) {
        var rest = Array(column.utf8)[...]
        while !rest.isEmpty {
            guard case .string(let name) = try Self.value(&rest) else { throw Self.unreadable }
            before[name] = try Self.value(&rest)
            after[name] = try Self.value(&rest)
        }
    }

    private static var unreadable: UnreadableFile {
        UnreadableFile("its column changes cannot be read")
    }

    private static func value(
        _ rest: inout ArraySlice<UInt8>
    ) throws(UnreadableFile) -> CanonicalJSON {
        switch rest.popFirst() {
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "i"): return .integer(try number(&rest, before: UInt8(ascii: ";")))
        case UInt8(ascii: "m"):
            let milliseconds = try number(&rest, before: UInt8(ascii: ";"))
            return .time(Timestamp(unixMilliseconds: milliseconds))
        case UInt8(ascii: "t"):
            let count = try number(&rest, before: UInt8(ascii: ":"))
            guard count >= 0, count <= rest.count else { throw unreadable }
            let text = rest.prefix(Int(count))
            rest.removeFirst(Int(count))
            return .string(String(decoding: text, as: UTF8.self))
        default: throw unreadable
        }
    }

    private static func number(
        _ rest: inout ArraySlice<UInt8>, before mark: UInt8
    ) throws(UnreadableFile) -> Int64 {
        guard let end = rest.firstIndex(of: mark),
            let number = Int64(String(decoding: rest[..<end], as: UTF8.self))
        else { throw unreadable }
        rest = rest[(end + 1)...]
        return number
    }
}
