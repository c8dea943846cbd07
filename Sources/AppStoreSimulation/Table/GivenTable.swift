import Subscriptions

/// A company's own table, from which a store is made that agrees with it.
///
/// Deliberately not the reader of `RowFiles`: shared code would repeat an error of the program in the App
/// Store that tests it. Source of the file format: `docs/columns.md`.
struct GivenTable: Sendable {
    let rows: [GivenRow]

    /// Reads CSV (RFC 4180) in UTF-8 with a header line.
    ///
    /// Throws one error that names the first faulty lines, each with its reason.
    static func read(_ text: String) throws(SimulatorError) -> GivenTable {
        var records = CSVRecords(text)
        guard let header = records.next() else { throw problem("it is empty.") }
        let columns = try Self.columns(header)
        var faults = LineFaults()
        var rows: [GivenRow] = []
        var lineOfID: [UInt64: Int] = [:]
        var app: (bundle: String, line: Int)?
        while let record = records.next() {
            do throws(LineFault) {
                let row = try GivenRow(record, columns: columns)
                for id in row.transactionIDs {
                    if let earlier = lineOfID[id] {
                        throw LineFault(record.line, "the id \(id) is in line \(earlier) already")
                    }
                    lineOfID[id] = record.line
                }
                if let bundle = row.bundleID {
                    let first = app ?? (bundle, record.line)
                    app = first
                    guard bundle == first.bundle else {
                        throw LineFault(
                            record.line,
                            "bundle_id \(shown(bundle)) differs from that of line \(first.line); "
                                + "a simulated store has one app, so give the rows of one")
                    }
                }
                rows.append(row)
            } catch {
                faults.append(error)
            }
        }
        guard faults.isEmpty else { throw problem(faults.sentence) }
        guard !rows.isEmpty else { throw problem("it has no rows below its header.") }
        guard rows.count <= 1_000_000 else { throw problem("it has more than a million rows.") }
        return GivenTable(rows: rows)
    }

    func rows(in environment: SimulatedEnvironment) -> [GivenRow] {
        rows.filter { $0.environment == environment }
    }

    private static func columns(
        _ header: CSVRecords.Record
    ) throws(SimulatorError) -> [SubscriptionField] {
        var columns: [SubscriptionField] = []
        if let fault = header.fault { throw problem("line 1: \(fault).") }
        for name in header.fields {
            guard let column = SubscriptionField(rawValue: name) else {
                throw problem(
                    "line 1: \(shown(name)) is not a column; docs/columns.md has their names, and "
                        + "trueup export writes a table with them.")
            }
            guard !columns.contains(column) else {
                throw problem("line 1: the column \(name) is there twice.")
            }
            columns.append(column)
        }
        guard columns.contains(.originalTransactionID) else {
            throw problem("line 1: the column original_transaction_id is missing.")
        }
        return columns
    }

    static func problem(_ text: String) -> SimulatorError {
        .badOption("The table cannot be used: \(text)")
    }

    /// A foreign text in quotes, short, without characters that a terminal would obey.
    static func shown(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(60) {
            let isPlain = (0x20..<0x7F).contains(scalar.value) || scalar.properties.isAlphabetic
            result +=
                isPlain ? String(scalar) : "\\u{" + String(scalar.value, radix: 16) + "}"
        }
        return "\"\(result)\"" + (text.unicodeScalars.count > 60 ? "…" : "")
    }
}

/// One row of a given table; `nil` for what the row leaves open.
struct GivenRow: Sendable {
    let line: Int
    var originalID: UInt64 = 0
    var environment = SimulatedEnvironment.production
    var bundleID: String?
    var customerID: String?
    var appAccountToken: String?
    var productID: String?
    var status: PurchaseChain.Phase?
    var expiresDate: Timestamp?
    var gracePeriodExpiresDate: Timestamp?
    var autoRenews: Bool?
    var autoRenewProductID: String?
    var revocationDate: Timestamp?
    var isFamilyShared = false
    var latestID: UInt64?
    var lineItemID: UInt64?
    var signedDate: Timestamp?

    /// The original id, and the latest transaction's where that is another one.
    var transactionIDs: [UInt64] {
        [originalID] + (latestID.map { $0 == originalID ? [] : [$0] } ?? [])
    }

    fileprivate init(
        _ record: CSVRecords.Record, columns: [SubscriptionField]
    ) throws(LineFault) {
        line = record.line
        if let fault = record.fault { throw LineFault(line, fault) }
        guard record.fields.count == columns.count else {
            throw LineFault(
                line,
                "it has \(record.fields.count) fields, and the header names \(columns.count)")
        }
        for (column, text) in zip(columns, record.fields) where !text.isEmpty {
            guard let reason = read(text, of: column) else { continue }
            throw LineFault(line, "\(column.rawValue) \(GivenTable.shown(text)) \(reason)")
        }
        guard originalID > 0 else { throw LineFault(line, "original_transaction_id is empty") }
    }

    /// Reads one value; returns why it cannot be used, or `nil`.
    private mutating func read(_ text: String, of column: SubscriptionField) -> String? {
        switch column {
        case .originalTransactionID: return Self.read(text, into: &originalID)
        case .latestTransactionID:
            var id: UInt64 = 0
            defer { latestID = id }
            return Self.read(text, into: &id)
        case .webOrderLineItemID:
            var id: UInt64 = 0
            defer { lineItemID = id }
            return Self.read(text, into: &id)
        case .environment:
            guard let known = SimulatedEnvironment(rawValue: text) else {
                return "must be Production or Sandbox"
            }
            environment = known
        case .bundleID: bundleID = text
        case .customerID: customerID = text
        case .appAccountToken:
            guard Self.isUUID(text) else { return "is not a UUID" }
            appAccountToken = text
        case .productID: productID = text
        case .status:
            guard let number = UInt8(text), (1...5).contains(number) else {
                return "must be 1 active, 2 expired, 3 billing retry, 4 grace period or 5 revoked"
            }
            status = PurchaseChain.Phase(rawValue: number)
        case .autoRenewStatus:
            guard text == "0" || text == "1" else { return "must be 0 or 1" }
            autoRenews = text == "1"
        case .autoRenewProductID: autoRenewProductID = text
        case .inAppOwnershipType:
            guard text == "PURCHASED" || text == "FAMILY_SHARED" else {
                return "must be PURCHASED or FAMILY_SHARED; the simulator knows no other"
            }
            isFamilyShared = text == "FAMILY_SHARED"
        case .expiresDate: return Self.read(text, into: &expiresDate)
        case .gracePeriodExpiresDate: return Self.read(text, into: &gracePeriodExpiresDate)
        case .revocationDate: return Self.read(text, into: &revocationDate)
        case .signedDate: return Self.read(text, into: &signedDate)
        // Of another source of payment, which no App Store knows.
        case .paidElsewhereUntil: return nil
        // Optional columns, as those of subscriptions for groups.
        default: return "is not simulated: leave such rows out, or the column"
        }
        return nil
    }

    private static func read(_ text: String, into id: inout UInt64) -> String? {
        let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, !text.hasPrefix("0"), let number = UInt64(text) else {
            return "is not an id of Apple's: up to twenty digits, the first of them not 0"
        }
        id = number
        return nil
    }

    private static func read(_ text: String, into date: inout Timestamp?) -> String? {
        guard let time = Timestamp(rfc3339: text) else {
            return "is not a time such as 2026-11-20T03:00:00.000Z"
        }
        guard (firstDay...lastDay).contains(time) else {
            return "is before the App Store began (2008), or after 2200"
        }
        date = time
        return nil
    }

    private static let firstDay = Timestamp(unixMilliseconds: 1_199_145_600_000)
    private static let lastDay = Timestamp(unixMilliseconds: 7_258_118_400_000)

    private static func isUUID(_ text: String) -> Bool {
        text.utf8.count == 36
            && text.utf8.enumerated().allSatisfy { place, byte in
                [8, 13, 18, 23].contains(place)
                    ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isHexDigit
            }
    }
}

/// Why one line cannot be used.
struct LineFault: Error {
    let line: Int
    let reason: String

    init(_ line: Int, _ reason: String) {
        self.line = line
        self.reason = reason
    }
}

/// The faults of a file: the first ones whole, the others as a number.
struct LineFaults {
    private static let mostShown = 10
    private var shown: [LineFault] = []
    private var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ fault: LineFault) {
        count += 1
        if shown.count < Self.mostShown { shown.append(fault) }
    }

    var sentence: String {
        let lines = shown.map { "line \($0.line): \($0.reason)." }.joined(separator: "\n")
        let others = count - shown.count
        return (count > 1 ? "\n" : "") + lines
            + (others > 0
                ? "\n\(others) more \(others == 1 ? "line" : "lines") cannot be used." : "")
    }
}

/// Splits CSV into records and their fields.
private struct CSVRecords {
    struct Record {
        /// The line on which the record begins.
        let line: Int
        var fields: [String] = []
        var fault: String?
    }

    private let bytes: [UInt8]
    private var offset = 0
    private var line = 1

    init(_ text: String) {
        bytes = Array(text.utf8)
        // A byte order mark, which spreadsheets write.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
    }

    /// The next record that is not an empty line.
    mutating func next() -> Record? {
        while offset < bytes.count, bytes[offset] == UInt8(ascii: "\n") || isLineEnd(at: offset) {
            offset += bytes[offset] == UInt8(ascii: "\n") ? 1 : 2
            line += 1
        }
        guard offset < bytes.count else { return nil }
        var record = Record(line: line)
        var goesOn = true
        while goesOn {
            record.fields.append(nextField(&record.fault))
            goesOn = offset < bytes.count && bytes[offset] == UInt8(ascii: ",")
            if goesOn { offset += 1 }
        }
        // The line feed, with the carriage return that may be before it.
        offset += isLineEnd(at: offset) ? 2 : 1
        line += 1
        return record
    }

    /// Whether a carriage return and a line feed begin there.
    private func isLineEnd(at place: Int) -> Bool {
        place + 1 < bytes.count && bytes[place] == UInt8(ascii: "\r")
            && bytes[place + 1] == UInt8(ascii: "\n")
    }

    /// Reads up to the comma, the line's end or the file's end.
    private mutating func nextField(_ fault: inout String?) -> String {
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") else { return plainField() }
        let begin = line
        var field: [UInt8] = []
        offset += 1
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += 1
            if byte == UInt8(ascii: "\"") {
                guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") else {
                    let rest = plainField()
                    if !rest.isEmpty { fault = "there is text behind a closing quote" }
                    return String(decoding: field, as: UTF8.self)
                }
                offset += 1
            }
            if byte == UInt8(ascii: "\n") { line += 1 }
            field.append(byte)
        }
        fault = "the quote that opens in line \(begin) is never closed"
        return ""
    }

    private mutating func plainField() -> String {
        let begin = offset
        while offset < bytes.count, bytes[offset] != UInt8(ascii: ","),
            bytes[offset] != UInt8(ascii: "\n"), !isLineEnd(at: offset)
        {
            offset += 1
        }
        return String(decoding: bytes[begin..<offset], as: UTF8.self)
    }
}
