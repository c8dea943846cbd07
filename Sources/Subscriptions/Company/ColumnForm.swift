/// A value as it is bound to a statement for the company's database.
package enum CompanyLiteral: Hashable, Sendable {
    case null
    case text(String)
    case integer(Int64)
    case boolean(Bool)
}

/// Conversions between what is in a column of the company's, as text, and our values.
extension ColumnForm {
    /// Whether a column of trueup's can be kept in this form.
    package func fits(_ form: FieldForm, hasWords: Bool = false) -> Bool {
        switch (self, form) {
        case (.text, .text), (.integer, .text), (.uuid, .text), (.uuidBinary, .text): true
        case (.text, .integer): hasWords
        case (.integer, .integer), (.boolean, .integer): true
        case (.milliseconds, .time), (.seconds, .time), (.timestamptz, .time),
            (.timestamp, .time):
            true
        default: false
        }
    }

    /// Returns the value of a text; `nil` for text that is not a value of this form.
    ///
    /// - Parameters:
    ///   - text: The stored value in the database's words; `nil` for NULL.
    ///   - form: The type of our column.
    /// - Returns: The value; null and empty text as they are.
    package func value(of text: String?, as form: FieldForm) -> FieldValue? {
        guard let text else { return .null }
        if text.isEmpty { return form == .text ? .text("") : .null }
        switch self {
        case .text: return .text(text)
        case .integer:
            guard let number = Self.wholeNumber(text) else {
                // Twenty digits hold ids that no signed number holds.
                return form == .text ? TransactionID(text).map { .text($0.text) } : nil
            }
            return form == .text ? .text(String(number)) : .integer(number)
        case .boolean: return Self.truth(text).map { .integer($0 ? 1 : 0) }
        case .uuid, .uuidBinary: return Self.uuid(text).map(FieldValue.text)
        case .milliseconds:
            return Self.wholeNumber(text).map { .time(Timestamp(unixMilliseconds: $0)) }
        case .seconds:
            guard let seconds = Self.wholeNumber(text) else { return nil }
            let (product, overflow) = seconds.multipliedReportingOverflow(
                by: Milliseconds.perSecond)
            return overflow ? nil : .time(Timestamp(unixMilliseconds: product))
        case .timestamptz:
            return Timestamp(rfc3339: TimeSpelling.completed(text)).map(FieldValue.time)
        case .timestamp(let clock):
            guard TimeSpelling(of: text).offset == nil, let local = Timestamp(rfc3339: text + "Z")
            else { return nil }
            return clock.instant(ofLocal: local).map(FieldValue.time)
        }
    }

    /// A value in this form, to be written; `nil` where the form cannot hold it.
    ///
    /// - Parameters:
    ///   - value: In trueup's form.
    ///   - spelling: How the company spells times in the same row, where its database keeps text.
    /// - Returns: What is bound to a statement.
    package func literal(
        _ value: FieldValue, spelling: TimeSpelling = TimeSpelling()
    ) -> CompanyLiteral? {
        switch (self, value) {
        case (_, .null): .null
        case (.text, .text(let text)): .text(text)
        case (.uuid, .text("")), (.uuidBinary, .text("")), (.integer, .text("")): .null
        case (.uuid, .text(let text)), (.uuidBinary, .text(let text)):
            Self.uuid(text).map(CompanyLiteral.text)
        case (.integer, .text(let text)): Int64(text).map(CompanyLiteral.integer)
        case (.integer, .integer(let number)): .integer(number)
        case (.boolean, .integer(let number)):
            (0...1).contains(number) ? .boolean(number == 1) : nil
        case (.milliseconds, .time(let time)): .integer(time.unixMilliseconds)
        case (.seconds, .time(let time)):
            .integer(time.unixMilliseconds.floorDivided(by: Milliseconds.perSecond).quotient)
        case (.timestamptz, .time(let time)): .text(spelling.spell(time, withOffset: true))
        case (.timestamp(let clock), .time(let time)):
            clock.local(at: time).map { .text(spelling.spell($0, withOffset: false)) }
        default: nil
        }
    }

    /// A whole number; also one that a driver stored as floating point.
    private static func wholeNumber(_ text: String) -> Int64? {
        Int64(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
    }

    private static func truth(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "1", "t", "true": true
        case "0", "f", "false": false
        default: nil
        }
    }

    /// In lower case with hyphens, as Apple states account tokens.
    private static func uuid(_ text: String) -> String? {
        let digits = text.lowercased().filter { $0 != "-" }
        guard digits.utf8.count == 32,
            digits.utf8.allSatisfy({
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            })
        else { return nil }
        let bytes = Array(digits.utf8)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
            .map { String(decoding: bytes[$0], as: UTF8.self) }.joined(separator: "-")
    }
}

/// How much of a second the company's columns keep, where that is less than Apple states.
///
/// A database rounds what is written with more digits, up as well as down; a time of trueup's is
/// cut before, so that it never ends later than Apple's.
package struct TimePrecision: Hashable, Sendable {
    /// Digits of a second's fraction, 0 to 2, by our column.
    package var digits: [MappedField: Int]

    package init(digits: [MappedField: Int] = [:]) { self.digits = digits }

    /// A value without what the column does not keep.
    ///
    /// - Parameters:
    ///   - value: Any value; only times are cut, before 1970 downwards as well.
    ///   - field: Our column.
    /// - Returns: The value as it will be read again.
    package func cut(_ value: FieldValue, in field: MappedField) -> FieldValue {
        guard case .time(let time) = value, let step = digits[field].flatMap(Self.step) else {
            return value
        }
        let rest = time.unixMilliseconds.floorDivided(by: step).remainder
        return .time(Timestamp(unixMilliseconds: time.unixMilliseconds &- rest))
    }

    private static func step(ofDigits digits: Int) -> Int64? {
        switch digits {
        case 0: 1000
        case 1: 100
        case 2: 10
        default: nil
        }
    }
}

extension CompanyChange {
    /// The change with times that are written no more precisely than their columns keep them.
    package func cut(to precision: TimePrecision) -> CompanyChange {
        guard !precision.digits.isEmpty else { return self }
        var change = self
        for (field, value) in after { change.after[field] = precision.cut(value, in: field) }
        return change
    }
}

/// How a time is spelled as text: a service that compares texts must find trueup's spelled as its
/// own.
package struct TimeSpelling: Hashable, Sendable {
    /// `T`, or a space.
    package var separator: Character = "T"
    /// Digits of the fraction of a second, at most three; 0 for none and no point.
    package var fractionDigits = 3
    /// How the offset of UTC is written; `nil` for none.
    package var offset: String? = "Z"

    package init() {}

    /// The spelling of a time that is there.
    package init(of text: String) {
        let bytes = Array(text.utf8)
        if bytes.count > 10 { separator = bytes[10] == UInt8(ascii: " ") ? " " : "T" }
        let time = text.dropFirst(11)
        let afterPoint = time.drop { $0 != "." }.dropFirst()
        fractionDigits = min(3, afterPoint.prefix { $0.isASCII && $0.isNumber }.count)
        if time.hasSuffix("Z") || time.hasSuffix("z") {
            offset = "Z"
        } else if let sign = time.lastIndex(where: { $0 == "+" || $0 == "-" }) {
            switch time[sign...].count {
            case 3: offset = "+00"
            case 5: offset = "+0000"
            default: offset = "+00:00"
            }
        } else {
            offset = nil
        }
    }

    /// A time in UTC, or on another clock where the caller has moved it; milliseconds are never
    /// lost.
    package func spell(_ time: Timestamp, withOffset: Bool) -> String {
        let whole = time.rfc3339
        // RFC 3339 has `.000Z` at the end.
        let seconds = String(whole.dropLast(5)).map { $0 == "T" ? separator : $0 }
        let isWhole = time.unixMilliseconds.isMultiple(of: Milliseconds.perSecond)
        let fraction = whole.dropLast().suffix(3).prefix(isWhole ? fractionDigits : 3)
        return String(seconds) + (fraction.isEmpty ? "" : "." + fraction)
            + (withOffset ? offset ?? "Z" : "")
    }

    /// The time with an offset that RFC 3339 knows: databases leave out its minutes or the colon.
    static func completed(_ text: String) -> String {
        guard let sign = text.dropFirst(11).lastIndex(where: { $0 == "+" || $0 == "-" }) else {
            return text
        }
        let offset = text[sign...]
        switch offset.utf8.count {
        case 3: return text + ":00"
        case 5: return text[..<sign] + offset.prefix(3) + ":" + offset.suffix(2)
        default: return text
        }
    }
}
