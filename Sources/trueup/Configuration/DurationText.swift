import Subscriptions

/// A duration as people write it in settings and arguments: a whole number and one unit.
///
/// Units are `s`, `m`, `h` and `d`; a bare number is refused, because it could mean any of them.
package struct DurationText: Hashable, Sendable {
    /// Longer ones are a mistake, and must not overflow when added to a time.
    package static let maximumMilliseconds = 3650 * Milliseconds.perDay

    package let milliseconds: Int64

    private static let unitMilliseconds: [Character: Int64] = [
        "s": Milliseconds.perSecond, "m": Milliseconds.perMinute, "h": Milliseconds.perHour,
        "d": Milliseconds.perDay,
    ]

    package init?(_ text: String) {
        guard let last = text.last, let unit = Self.unitMilliseconds[last] else { return nil }
        let digits = text.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }),
            let count = Int64(digits)
        else { return nil }
        let (product, overflow) = count.multipliedReportingOverflow(by: unit)
        guard !overflow, product <= Self.maximumMilliseconds else { return nil }
        milliseconds = product
    }

    /// A duration of whole seconds in the largest unit that fits: `4h`, never `240m`.
    static func text(ofMilliseconds milliseconds: Int64) -> String {
        let units = unitMilliseconds.sorted { $0.value > $1.value }
        let unit = units.first { milliseconds != 0 && milliseconds % $0.value == 0 }
        return unit.map { "\(milliseconds / $0.value)\($0.key)" } ?? "\(milliseconds / 1000)s"
    }

    /// How long something took or how old it is, in its two largest units: `2 h 3 min`.
    static func age(ofMilliseconds milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min"
        case ..<86_400: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
        default: return "\(seconds / 86_400) d \(seconds / 3600 % 24) h"
        }
    }

    static var longest: String { text(ofMilliseconds: maximumMilliseconds) }

    /// What to write instead of a text that is no duration.
    static func suggestion(for text: String) -> String {
        if !text.isEmpty, text.allSatisfy({ $0.isASCII && $0.isNumber }) {
            return "add a unit: \(text)s, \(text)m, \(text)h or \(text)d"
        }
        return "write a whole number and s, m, h or d, for example 15m, at most \(longest)"
    }
}
