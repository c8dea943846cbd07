/// How a time is spelled as text: a service that compares texts must find ours spelled as its own.
package struct TimeSpelling: Hashable, Sendable {
    /// `T`, or a space.
    package var separator: Character = "T"
    /// Digits of the fraction of a second, at most three; 0 for none and no point.
    package var fractionDigits = 3
    /// How the offset of UTC is written; `nil` for none.
    package var offset: String? = "Z"

    package init() {}

    /// The spelling of a time that stands there.
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

    /// A time in UTC, or on another clock where the caller has moved it; milliseconds are never lost.
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
