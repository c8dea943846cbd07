package import Subscriptions

/// Reads one of App Store Connect's sales reports; a line without a subscription is `nil`.
package typealias SalesFileReader = RowFileReader<SalesColumn, SalesLine?>

/// SUBSCRIPTION, SUBSCRIPTION_EVENT and SUBSCRIBER reports (docs/compare.md).
///
/// Fields are separated by tabs, commas or semicolons. The columns are found by the letters and
/// digits of their names, because Apple's pages spell them in several ways.
extension RowFileReader where Field == SalesColumn, Row == SalesLine? {
    /// - Parameter path: `-` is standard input; gzip is unpacked.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    package init(salesAt path: String) throws(RowFileError) {
        let day = SalesReport.day(inNameOf: path)
        try self.init(
            path: path, required: [], mapping: ColumnMapping(isLoose: true), isForeign: true,
            fault: { SalesReport.fault(in: $0, hasDay: day != nil) },
            makeRow: { record throws(BadField) in try record.salesLine(day: day) })
    }

    /// The report that the header is of.
    package var salesReport: SalesReport { SalesReport(columns) ?? .subscription }

    /// Columns that no published version of the reports has.
    package var unknownSalesColumns: [String] {
        let known = Set(SalesColumn.notCompared.map(ColumnMapping.letters))
        return unknownColumns.filter { !known.contains(ColumnMapping.letters($0)) }
    }
}

extension SalesReport {
    static let names = allCases.map(\.rawValue).joined(separator: ", ")

    /// Returns the fault of a header that is of none of the reports, or lacks a column of its report.
    fileprivate static func fault(in columns: Set<SalesColumn>, hasDay: Bool) -> String? {
        guard let report = SalesReport(columns) else {
            return "has the columns of none of the reports \(names)"
        }
        let missing = SalesColumn.required(for: report).filter { !columns.contains($0) }
        guard missing.isEmpty else {
            let list = missing.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            return "\(missing.count == 1 ? "column" : "columns") \(list) "
                + "\(missing.count == 1 ? "is" : "are") missing; a \(report.rawValue) report needs "
                + (missing.count == 1 ? "it" : "them")
        }
        guard report == .subscription, !hasDay else { return nil }
        return "a SUBSCRIPTION report has its day in the file's name; call the file for example "
            + "Subscription_80012345_20261120.txt"
    }

    /// Recognizes the report by columns that only it has.
    fileprivate init?(_ columns: Set<SalesColumn>) {
        if !columns.isDisjoint(with: [.subscriberID, .units, .refund]) {
            self = .subscriber
        } else if !columns.isDisjoint(with: [.event, .quantity]) {
            self = .event
        } else if !columns.isDisjoint(with: SalesColumn.states.map(\.column)) {
            self = .subscription
        } else {
            return nil
        }
    }
}

/// The day in the name of a report's file.
extension SalesReport {
    /// Finds the last date in the name, such as `20261120` or `2026-11-20`.
    ///
    /// - Returns: Days since 1970-01-01; `nil` without a date.
    package static func day(inNameOf path: String) -> Int64? {
        let name = path.split(separator: "/").last ?? ""
        let numbers = name.utf8.split { !$0.isDigit }.map(Array.init)
        var found: Int64?
        for (index, number) in numbers.enumerated() {
            if number.count == 8 {
                found = date(number[0..<4], number[4..<6], number[6..<8]) ?? found
            } else if number.count == 4, index + 2 < numbers.count {
                found = date(number[...], numbers[index + 1][...], numbers[index + 2][...]) ?? found
            }
        }
        return found
    }

    fileprivate static func date(
        _ year: ArraySlice<UInt8>, _ month: ArraySlice<UInt8>, _ day: ArraySlice<UInt8>
    ) -> Int64? {
        func number(_ digits: ArraySlice<UInt8>) -> Int64 {
            digits.reduce(0) { $0 * 10 + Int64($1) - 0x30 }
        }
        let all = [year, month, day].joined()
        guard (year.count, month.count, day.count) == (4, 2, 2),
            all.allSatisfy({ $0.isDigit }), (2008...2999).contains(number(year))
        else { return nil }
        return CivilDate(year: number(year), month: number(month), day: number(day))?
            .daysSince1970
    }
}

/// Events of SUBSCRIPTION_EVENT, by what signed statements show of them.
extension SalesMeasure {
    /// Returns `nil` for an event that signed statements do not show.
    ///
    /// The names are those of Apple's page "Subscription events" and of earlier versions of the
    /// report, which called an introductory offer a free trial or an introductory price.
    fileprivate static func ofEvent(_ name: String) -> SalesMeasure? {
        let event = name.lowercased()
        if event == "refund" { return .refunded }
        if ["cancel", "canceled after renewal extension"].contains(event) { return .cancelled }
        if event.hasPrefix("cancel") || event.hasPrefix("billing retry")
            || event.hasPrefix("grace period") || event.hasPrefix("billing grace period")
            || event.hasPrefix("renewal extension")
        {
            return nil
        }
        // A change of plan or a conversion that ends a failed payment counts as the return.
        if event.hasPrefix("reactivate") || event.hasSuffix("from billing retry")
            || event.hasSuffix("from grace period") || event.hasSuffix("from billing grace period")
        {
            return .recovered
        }
        for change in ["upgrade", "downgrade", "crossgrade"] where event.hasPrefix(change) {
            return .changed
        }
        if event == "renew" || event.hasPrefix("paid subscription from")
            || event.hasPrefix("renewal from") || isContinuedOffer(event)
        {
            return .renewed
        }
        if event == "subscribe" || event.hasPrefix("subscribe with") || event == "opt-in"
            || event.hasPrefix("start introductory") || event == "start free trial"
            || event == "start offer code"
        {
            return .new
        }
        return nil
    }

    /// For example "Introductory Price from Introductory Price".
    private static func isContinuedOffer(_ event: String) -> Bool {
        let parts = event.split(separator: " from ")
        guard parts.count == 2 else { return false }
        return parts[0] == parts[1]
            && [
                "introductory price", "introductory offer", "free trial", "promotional offer",
                "offer code",
            ].contains(String(parts[0]))
    }
}

extension RecordBuffer {
    private static let highestCount: UInt64 = 1_000_000_000
    private static let places = SalesColumn.places()

    fileprivate func salesLine(day named: Int64?) throws(BadField) -> SalesLine? {
        func place(_ column: SalesColumn) -> Int { Self.places[column] ?? 0 }
        func has(_ column: SalesColumn) -> Bool { fields[place(column)].form != .absent }
        let id = try requiredID(place(.appleID))
        if has(.event) {
            let name = try text(place(.event)) ?? ""
            guard !name.isEmpty else { throw BadField("\(SalesColumn.event.rawValue) is empty") }
            let quantity = try count(place(.quantity), isRequired: true)
            var line = SalesLine(
                report: .event, appleID: id, day: try day(place(.eventDate)), counts: [:])
            if let measure = SalesMeasure.ofEvent(name) { line.counts[measure] = quantity }
            return line
        }
        if has(.units) {
            let isRefund = try yes(place(.refund))
            // Whether a refund has negative units is not published.
            let units = try count(place(.units), isRequired: true)
            return SalesLine(
                report: .subscriber, appleID: id, day: try day(place(.eventDate)),
                counts: [
                    isRefund ? .refundedUnits : .purchased: isRefund
                        ? Int64(clamping: units.magnitude) : units
                ])
        }
        var line = SalesLine(report: .subscription, appleID: id, day: named, counts: [:])
        for (column, measure) in SalesColumn.states where has(column) {
            line.counts[measure, default: 0] += try count(place(column), isRequired: false)
        }
        return line
    }

    /// A whole number; an empty field is 0 where it may be.
    private func count(_ column: Int, isRequired: Bool) throws(BadField) -> Int64 {
        let content = try trimmed(column)
        if content.isEmpty, !isRequired { return 0 }
        let digits = content.first == UInt8(ascii: "-") ? content.dropFirst() : content
        guard !digits.isEmpty, digits.allSatisfy({ $0.isDigit }),
            let number = Int64(String(decoding: content, as: UTF8.self)),
            number.magnitude <= Self.highestCount
        else { throw BadField(columnNames[column], content, "is not a whole number") }
        return number
    }

    private func yes(_ column: Int) throws(BadField) -> Bool {
        let content = try trimmed(column)
        if content.isEmpty { return false }
        switch String(decoding: content, as: UTF8.self).lowercased() {
        case "yes": return true
        case "no": return false
        default: throw BadField(columnNames[column], content, "is not Yes, No or empty")
        }
    }

    /// `2026-11-20`, or `11/20/2026` as Apple's older reports write it.
    private func day(_ column: Int) throws(BadField) -> Int64 {
        let content = try trimmed(column)
        let parts = content.split(
            whereSeparator: { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "/") })
        if content.count == 10, parts.count == 3 {
            let found =
                parts[0].count == 4
                ? SalesReport.date(parts[0], parts[1], parts[2])
                : SalesReport.date(parts[2], parts[0], parts[1])
            if let found { return found }
        }
        throw BadField(columnNames[column], content, "is not a day such as 2026-11-20")
    }

    private func trimmed(_ column: Int) throws(BadField) -> ArraySlice<UInt8> {
        var content = try decoded(column) ?? []
        while content.first == 0x20 { content.removeFirst() }
        while content.last == 0x20 { content.removeLast() }
        return content
    }
}
