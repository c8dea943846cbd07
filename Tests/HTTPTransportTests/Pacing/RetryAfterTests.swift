import HTTPTransport
import Testing

@Suite struct `Retry-After` {
    /// 2026-11-20T03:17:04Z.
    private static let now: Int64 = 1_795_144_624_000

    private func wait(_ value: String?) -> Duration? {
        RetryAfter.wait(for: value, nowUnixMilliseconds: Self.now)
    }

    @Test func `is a UNIX time in milliseconds, neither 54,000 years nor 30 seconds`() {
        #expect(wait("1795144644000") == .seconds(20))
        #expect(wait("1795144644500") == .milliseconds(20_500))
    }

    @Test func `may be a UNIX time in seconds`() {
        #expect(wait("1795144644") == .seconds(20))
    }

    @Test func `may be a delay in seconds`() {
        #expect(wait("120") == .seconds(120))
        #expect(wait("0") == RetryAfter.shortestWait)
    }

    @Test func `may be an HTTP date`() {
        #expect(wait("Fri, 20 Nov 2026 03:17:24 GMT") == .seconds(20))
    }

    @Test(arguments: [
        "1795144600000", "1795144600", "100000000000", "1000000000",
        "Fri, 20 Nov 2026 03:00:00 GMT",
    ])
    func `that has passed is a short wait`(value: String) {
        #expect(wait(value) == RetryAfter.shortestWait)
    }

    @Test(arguments: [
        "1826680624000", "999999999", "9223372036854775807", "99999999999",
        "Sat, 20 Nov 2027 03:17:04 GMT",
    ])
    func `far ahead is capped at an hour`(value: String) {
        #expect(wait(value) == .seconds(3600))
    }

    @Test(arguments: [
        nil, "", "soon", "-5", "1.5", "1e3", "99999999999999999999999", "٣", "Fri, 20 Nov 2026",
        "Fri, 32 Nov 2026 03:17:24 GMT", "Fri, 20 Nov 2026 24:17:24 GMT",
    ])
    func `that is missing or garbage says nothing`(value: String?) {
        #expect(wait(value) == nil)
    }
}

@Suite struct `An HTTP date` {
    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0 as Int64),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199_000),
        ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200_000),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400_000),
    ])
    func `is read to the second`(text: String, milliseconds: Int64) {
        #expect(HTTPDate.unixMilliseconds(text) == milliseconds)
    }
}
