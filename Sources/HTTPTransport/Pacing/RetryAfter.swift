/// The `Retry-After` header, which Apple sends as a UNIX time in milliseconds.
///
/// Read by magnitude, since standards, proxies and tools say other things: above 1e11 milliseconds
/// since 1970, from 1e9 seconds since 1970, below it a delay in seconds, otherwise an HTTP date.
package enum RetryAfter {
    package static let longestWait: Duration = .seconds(3600)
    /// For a time that has passed already: not at once, the answer says that we are too fast.
    package static let shortestWait: Duration = .seconds(1)

    /// How long to wait, or `nil` where there is no header or none that can be read.
    ///
    /// - Parameters:
    ///   - value: the header without blanks around it, as the transport delivers it.
    ///   - nowUnixMilliseconds: the wall clock, for the forms that name a moment.
    /// - Returns: between `shortestWait` and `longestWait`.
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
