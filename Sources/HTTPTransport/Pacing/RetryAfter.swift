import Glibc

/// The `Retry-After` header, which Apple sends as a UNIX time in milliseconds.
///
/// Standards, proxies and tools use other forms, so a number is read by its magnitude: from 1e11 on
/// as milliseconds since 1970, from 1e9 on as seconds since 1970, below that as a delay in seconds.
/// Everything else is read as an HTTP date.
package enum RetryAfter {
    package static let longestWait: Duration = .seconds(3600)
    /// The wait for a time in the past: not zero, because the server said that we are too fast.
    package static let shortestWait: Duration = .seconds(1)

    /// How long to wait, or `nil` where there is no header or none that can be read.
    ///
    /// - Parameters:
    ///   - value: The header without white space around it, as the transport returns it.
    ///   - nowUnixMilliseconds: The wall clock, for the forms that state a time.
    /// - Returns: A duration between `shortestWait` and `longestWait`.
    package static func wait(
        for value: String?, nowUnixMilliseconds: Int64
    ) -> Duration? {
        guard let value else { return nil }
        guard let milliseconds = waitMilliseconds(for: value, now: nowUnixMilliseconds)
        else { return nil }
        return min(longestWait, max(shortestWait, .milliseconds(milliseconds)))
    }

    private static func waitMilliseconds(for text: String, now: Int64) -> Int64? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return HTTPDate.unixMilliseconds(text).map { $0 - now }
        }
        // Empty, or too long for any of the forms: garbage.
        guard let number = Int64(text) else { return nil }
        switch number {
        case 100_000_000_000...: return min(number, .max / 2) - now
        case 1_000_000_000...: return number * 1000 - now
        default: return number * 1000
        }
    }
}

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
        var parts = unsafe tm()
        unsafe parts.tm_year = Int32(year - 1900)
        unsafe parts.tm_mon = Int32(month)
        unsafe parts.tm_mday = Int32(day)
        unsafe parts.tm_hour = Int32(hour)
        unsafe parts.tm_min = Int32(minute)
        unsafe parts.tm_sec = Int32(second)
        return Int64(unsafe timegm(&parts)) * 1000
    }

    private static func number(_ text: Substring, _ range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int64(text), range.contains(number)
        else { return nil }
        return number
    }
}
