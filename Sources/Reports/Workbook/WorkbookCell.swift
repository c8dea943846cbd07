import Subscriptions

/// One value of a sheet, of a type that spreadsheets know.
enum WorkbookCell {
    case empty
    /// Shown as it is, whatever it looks like: no cell of text is ever run as a formula.
    case text(String)
    case heading(String)
    case integer(Int64)
    /// In units of its currency.
    case amount(milliunits: Int64, currency: String?)
    /// In UTC.
    case time(Timestamp)

    init(_ cell: Cell) {
        switch cell {
        case .null: self = .empty
        case .integer(let number): self = .integer(number)
        case .text(let text), .own(let text): self = .text(text)
        }
    }

    init(_ time: Timestamp?) { self = time.map(WorkbookCell.time) ?? .empty }

    init(_ value: FieldValue) {
        if case .time(let time) = value { self = .time(time) } else { self.init(Cell(value)) }
    }

    /// The formats of cells by their place in `xl/styles.xml`.
    enum Style: Int {
        case general, text, heading, time, wholeAmount, amount, finerAmount, integer
    }

    /// Appends the cell's element; nothing for an empty one.
    ///
    /// - Parameters:
    ///   - reference: Where it stands, such as `B7`.
    ///   - bytes: Takes it.
    func append(at reference: String, to bytes: inout [UInt8]) {
        switch self {
        case .empty: break
        case .text(let text): Self.append(text, .text, reference, &bytes)
        case .heading(let text): Self.append(text, .heading, reference, &bytes)
        case .integer(let number):
            Self.append(number: String(number), .integer, reference, &bytes)
        case .amount(let milliunits, let currency):
            let digits = DecimalAmount(milliunits: 0, currency: currency).decimals.utf8.count
            let style: Style = digits == 0 ? .wholeAmount : digits == 3 ? .finerAmount : .amount
            Self.append(number: Self.units(milliunits), style, reference, &bytes)
        case .time(let time):
            if let days = Self.days(time) {
                Self.append(number: days, .time, reference, &bytes)
            } else {
                Self.append(time.rfc3339, .text, reference, &bytes)
            }
        }
    }

    /// The exact amount: rounding is left to the format.
    private static func units(_ milliunits: Int64) -> String {
        let (units, rest) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        let digits = String(rest + 1000).dropFirst()
        return (milliunits < 0 ? "-" : "") + "\(units).\(digits)"
    }

    /// The days since the end of 1899 by which spreadsheets know a time; `nil` before March 1900,
    /// where they take a leap day for one that there was not, and after 9999.
    private static func days(_ time: Timestamp) -> String? {
        let (day, rest) = time.unixMilliseconds.floorDivided(by: Milliseconds.perDay)
        guard (-25_508...2_932_896).contains(day) else { return nil }
        let fraction = (rest * 10_000_000_000 + Milliseconds.perDay / 2) / Milliseconds.perDay
        return "\(day + 25_569)." + String(fraction + 10_000_000_000).dropFirst()
    }

    private static func append(
        number: String, _ style: Style, _ reference: String, _ bytes: inout [UInt8]
    ) {
        bytes.append(
            contentsOf: "<c r=\"\(reference)\" s=\"\(style.rawValue)\"><v>\(number)</v></c>".utf8)
    }

    private static func append(
        _ text: String, _ style: Style, _ reference: String, _ bytes: inout [UInt8]
    ) {
        let attributes = "r=\"\(reference)\" s=\"\(style.rawValue)\" t=\"inlineStr\""
        let isPadded = text.utf8.first == 0x20 || text.utf8.last == 0x20
        let space = isPadded ? " xml:space=\"preserve\"" : ""
        bytes.append(contentsOf: "<c \(attributes)><is><t\(space)>".utf8)
        if text.utf8.count < 3000, text.utf8.allSatisfy(Self.isPlain) {
            // Nearly all of a report: ids, names, digests.
            bytes.append(contentsOf: text.utf8)
        } else {
            var markup = Markup()
            markup.text(shortened(withoutEscapes(text)))
            bytes.append(contentsOf: markup.bytes)
        }
        bytes.append(contentsOf: "</t></is></c>".utf8)
    }

    /// Printable ASCII that needs no escape, in names such as `not_found` either.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""): false
        // Of the escapes `_x0041_`, which spreadsheets read; kinds and states have no such letter.
        case UInt8(ascii: "x"), UInt8(ascii: "X"): false
        default: byte >= 0x20 && byte < 0x7F
        }
    }

    /// A cell takes 32,767 UTF-16 units, and one character of the text may be written out as ten.
    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > 3000 else { return text }
        return String(text.prefix(3000)) + "… (whole in discrepancies.jsonl)"
    }

    /// Spreadsheets read `_x0041_` as the character with that number; the sign is named by its own.
    private static func withoutEscapes(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "_")) else { return text }
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "_"), isEscape(bytes[index...].prefix(7)) {
                output.append(contentsOf: "_x005F".utf8)
            }
            output.append(byte)
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func isEscape(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.count == 7 && bytes.last == UInt8(ascii: "_")
            && (bytes.dropFirst().first == UInt8(ascii: "x")
                || bytes.dropFirst().first == UInt8(ascii: "X"))
            && bytes.dropFirst(2).dropLast().allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
                    UInt8(ascii: "a")...UInt8(ascii: "f"):
                    true
                default: false
                }
            }
    }
}
