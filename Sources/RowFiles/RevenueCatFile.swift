import FoundationEssentials
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
        try self.init(path: path, required: RevenueCatColumn.required, isForeign: true) {
            record throws(BadField) in try record.revenueCatLine()
        }
    }
}

/// Lines of the export.
extension RecordBuffer {
    /// The stores whose purchases Apple signs.
    private static let stores: Set<String> = ["app_store", "mac_app_store"]
    /// Found once for all records.
    private static let places = RevenueCatColumn.places()

    private func place(_ column: RevenueCatColumn) -> Int { Self.places[column] ?? 0 }

    fileprivate func revenueCatLine() throws(BadField) -> RevenueCatLine? {
        guard let store = try value(.store) else { throw BadField("store is empty") }
        guard Self.stores.contains(store.lowercased()) else { return nil }
        let id = try requiredID(place(.transactionID))
        var line = RevenueCatLine(
            originalTransactionID: try requiredID(place(.originalTransactionID)),
            transactionID: id)
        line.customerID = try value(.customerID)
        line.productID = try value(.productID)
        line.startTime = try foreignTime(.startTime)
        line.endTime = try foreignTime(.endTime)
        line.gracePeriodEndTime = try foreignTime(.gracePeriodEndTime)
        line.effectiveEndTime = try foreignTime(.effectiveEndTime)
        line.isAutoRenewable = try foreignFlag(.isAutoRenewable)
        line.isSandbox = try foreignFlag(.isSandbox)
        line.refundedAt = try foreignTime(.refundedAt)
        line.unsubscribeDetectedAt = try foreignTime(.unsubscribeDetectedAt)
        line.billingIssuesDetectedAt = try foreignTime(.billingIssuesDetectedAt)
        line.currency = try value(.currency)
        line.price = try milliunits(.price)
        line.entitlements = try value(.entitlements).map(Self.names)
        line.ownership = try value(.ownership)
        line.updatedAt = try foreignTime(.updatedAt)
        return line
    }

    /// The names in an array such as `["pro", "extra"]` or `{pro,extra}`, sorted.
    private static func names(_ array: String) -> String {
        if array.hasPrefix("["),
            let names = try? JSONDecoder().decode([String].self, from: Data(array.utf8))
        {
            return names.filter { !$0.isEmpty }.sorted().joined(separator: ",")
        }
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
    private func value(_ column: RevenueCatColumn) throws(BadField) -> String? {
        let text = try text(place(column))
        return text == "null" ? nil : text
    }

    /// The bytes of a field; `nil` as for `value`.
    private func present(_ column: RevenueCatColumn) throws(BadField) -> ArraySlice<UInt8>? {
        guard let content = try decoded(place(column)) else { return nil }
        return content.elementsEqual("null".utf8) ? nil : content
    }

    /// A time in UTC, with or without its zone.
    private func foreignTime(_ column: RevenueCatColumn) throws(BadField) -> Timestamp? {
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
                column.rawValue, content, "is not a time such as 2026-11-20 03:17:04")
        }
        return time
    }

    private func foreignFlag(_ column: RevenueCatColumn) throws(BadField) -> Bool? {
        guard let content = try present(column) else { return nil }
        switch content.first {
        case UInt8(ascii: "t"), UInt8(ascii: "T"), UInt8(ascii: "1"): return true
        case UInt8(ascii: "f"), UInt8(ascii: "F"), UInt8(ascii: "0"): return false
        default: throw BadField(column.rawValue, content, "is neither true nor false")
        }
    }

    /// An amount such as `9.99` as thousandths, the nearest where it has more decimals.
    private func milliunits(_ column: RevenueCatColumn) throws(BadField) -> Int64? {
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
            throw BadField(column.rawValue, content, "is not an amount such as 9.99")
        }
        for _ in min(decimals ?? 0, 3)..<3 { number *= 10 }
        if rounds { number += 1 }
        return isNegative ? -number : number
    }
}
