package import Subscriptions

/// Reads RevenueCat's export of transactions; a line of another store is `nil`.
package typealias RevenueCatFileReader = RowFileReader<RevenueCatColumn, RevenueCatLine?>

/// Files of RevenueCat's scheduled data export (docs/compare.md).
///
/// Fields are separated by semicolons or commas, and the columns are found by their names.
extension RowFileReader where Field == RevenueCatColumn, Row == RevenueCatLine? {
    /// - Parameter path: `-` is standard input; gzip is unpacked.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    package init(revenueCatAt path: String) throws(RowFileError) {
        let places = RevenueCatPlaces()
        try self.init(path: path, required: RevenueCatColumn.required, isForeign: true) {
            record throws(BadField) in try places.line(of: record)
        }
    }
}

/// Makes lines of records; the places of the columns are found once for all records.
private struct RevenueCatPlaces: Sendable {
    /// The stores whose purchases Apple signs.
    private static let stores: Set<String> = ["app_store", "mac_app_store"]

    private let store = RevenueCatColumn.store.place
    private let original = RevenueCatColumn.originalTransactionID.place
    private let transaction = RevenueCatColumn.transactionID.place
    private let customer = RevenueCatColumn.customerID.place
    private let product = RevenueCatColumn.productID.place
    private let start = RevenueCatColumn.startTime.place
    private let end = RevenueCatColumn.endTime.place
    private let grace = RevenueCatColumn.gracePeriodEndTime.place
    private let effectiveEnd = RevenueCatColumn.effectiveEndTime.place
    private let isAutoRenewable = RevenueCatColumn.isAutoRenewable.place
    private let isSandbox = RevenueCatColumn.isSandbox.place
    private let refunded = RevenueCatColumn.refundedAt.place
    private let unsubscribed = RevenueCatColumn.unsubscribeDetectedAt.place
    private let billing = RevenueCatColumn.billingIssuesDetectedAt.place
    private let currency = RevenueCatColumn.currency.place
    private let price = RevenueCatColumn.price.place
    private let entitlements = RevenueCatColumn.entitlements.place
    private let ownership = RevenueCatColumn.ownership.place
    private let updated = RevenueCatColumn.updatedAt.place

    func line(of record: borrowing RecordBuffer) throws(BadField) -> RevenueCatLine? {
        guard let store = try record.value(store) else { throw BadField("store is empty") }
        guard Self.stores.contains(store.lowercased()) else { return nil }
        let id = try record.requiredID(transaction)
        var line = RevenueCatLine(
            originalTransactionID: try record.requiredID(original), transactionID: id)
        line.customerID = try record.value(customer)
        line.productID = try record.value(product)
        line.startTime = try record.foreignTime(start)
        line.endTime = try record.foreignTime(end)
        line.gracePeriodEndTime = try record.foreignTime(grace)
        line.effectiveEndTime = try record.foreignTime(effectiveEnd)
        line.isAutoRenewable = try record.foreignFlag(isAutoRenewable)
        line.isSandbox = try record.foreignFlag(isSandbox)
        line.refundedAt = try record.foreignTime(refunded)
        line.unsubscribeDetectedAt = try record.foreignTime(unsubscribed)
        line.billingIssuesDetectedAt = try record.foreignTime(billing)
        line.currency = try record.value(currency)
        line.price = try record.milliunits(price)
        line.entitlements = try record.value(entitlements).map(Self.names)
        line.ownership = try record.value(ownership)
        line.updatedAt = try record.foreignTime(updated)
        return line
    }

    /// The names in an array such as `["pro", "extra"]` or `{pro,extra}`, sorted.
    private static func names(_ array: String) -> String {
        let isMark: (Character) -> Bool = { "[]{}\"' ".contains($0) }
        return array.split(separator: ",").map { String($0.drop(while: isMark)) }
            .map { name in
                var name = Substring(name)
                while let last = name.last, isMark(last) { name.removeLast() }
                return String(name)
            }
            .filter { !$0.isEmpty }.sorted().joined(separator: ",")
    }
}

/// Values as other services write them.
extension RecordBuffer {
    private static let utcBytes = Array(" UTC".utf8)
    /// The length of a time such as `2026-11-20 03:17:04`.
    private static let secondsEnd = 19

    /// A text; `nil` where it is empty or says that there is no value.
    fileprivate func value(_ column: Int) throws(BadField) -> String? {
        let text = try text(column)
        return text == "null" ? nil : text
    }

    /// The bytes of a field; `nil` as for `value`.
    private func present(_ column: Int) throws(BadField) -> ArraySlice<UInt8>? {
        guard let content = try decoded(column) else { return nil }
        return content.elementsEqual("null".utf8) ? nil : content
    }

    /// A time in UTC, with or without its zone.
    fileprivate func foreignTime(_ column: Int) throws(BadField) -> Timestamp? {
        guard let content = try present(column) else { return nil }
        var bytes = Array(content)
        if bytes.count > Self.secondsEnd, bytes.suffix(4).elementsEqual(Self.utcBytes) {
            bytes.removeLast(4)
        }
        let rest = bytes.dropFirst(Self.secondsEnd)
        if rest.allSatisfy({ $0 == UInt8(ascii: ".") || $0.isDigit }) {
            bytes.append(UInt8(ascii: "Z"))
        }
        let time = unsafe bytes.withUnsafeBufferPointer { unsafe Timestamp(rfc3339: $0) }
        guard let time else {
            throw BadField(
                columnNames[column], content, "is not a time such as 2026-11-20 03:17:04")
        }
        return time
    }

    fileprivate func foreignFlag(_ column: Int) throws(BadField) -> Bool? {
        guard let content = try present(column) else { return nil }
        switch content.first {
        case UInt8(ascii: "t"), UInt8(ascii: "T"), UInt8(ascii: "1"): return true
        case UInt8(ascii: "f"), UInt8(ascii: "F"), UInt8(ascii: "0"): return false
        default: throw BadField(columnNames[column], content, "is neither true nor false")
        }
    }

    /// An amount such as `9.99` as thousandths, the nearest where it has more decimals.
    fileprivate func milliunits(_ column: Int) throws(BadField) -> Int64? {
        guard let content = try present(column) else { return nil }
        var number: Int64 = 0
        var decimals: Int?
        var rounds = false
        let isNegative = content.first == UInt8(ascii: "-")
        let digits = isNegative ? content.dropFirst() : content
        var isNumber = !digits.isEmpty && digits.count <= 24
        for byte in digits where isNumber {
            switch byte {
            case UInt8(ascii: ".") where decimals == nil: decimals = 0
            case 0x30...0x39:
                let digit = Int64(byte - 0x30)
                if let count = decimals {
                    decimals = count + 1
                    if count == 3 { rounds = digit >= 5 }
                    if count >= 3 { continue }
                }
                isNumber = number < 1_000_000_000_000
                number = number * 10 + digit
            default: isNumber = false
            }
        }
        guard isNumber else {
            throw BadField(columnNames[column], content, "is not an amount such as 9.99")
        }
        for _ in min(decimals ?? 0, 3)..<3 { number *= 10 }
        if rounds { number += 1 }
        return isNegative ? -number : number
    }
}
