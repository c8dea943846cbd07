/// The date of HTTP headers (RFC 9110, section 5.6.7), in the form that servers send today:
/// `Fri, 20 Nov 2026 03:17:04 GMT`.
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Milliseconds since 1970, or `nil` for anything else, the obsolete forms included.
    package static func unixMilliseconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT",
            let day = number(words[1], 1...31), let month = months.firstIndex(of: String(words[2])),
            let year = number(words[3], 1970...9999)
        else { return nil }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = number(clock[0], 0...23),
            let minute = number(clock[1], 0...59), let second = number(clock[2], 0...60)
        else { return nil }
        let days = daysSinceEpoch(year: year, month: month + 1, day: day)
        return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000
    }

    /// Counted in years that begin in March, so that a leap day is the last day of its year.
    private static func daysSinceEpoch(year: Int64, month: Int, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let marchMonth = Int64(month > 2 ? month - 3 : month + 9)
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        // 719_469 is what the rest gives for the first of January 1970.
        return marchYear * 365 + leapDays + (153 * marchMonth + 2) / 5 + day - 719_469
    }

    private static func number(_ text: Substring, _ range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int64(text), range.contains(number)
        else { return nil }
        return number
    }
}
