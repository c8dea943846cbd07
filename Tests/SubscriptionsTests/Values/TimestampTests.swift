import Subscriptions
import TestSupport
import Testing

@Suite struct `A timestamp` {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_795_144_624_007, "2026-11-20T03:17:04.007Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func `writes and reads RFC 3339 in UTC with milliseconds`(
        milliseconds: Int64, text: String
    ) {
        #expect(Timestamp(unixMilliseconds: milliseconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text)?.unixMilliseconds == milliseconds)
    }

    @Test(
        arguments: [
            (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
            (.max, "+292278994-08-17T07:12:55.807Z"), (.min, "-292275055-05-16T16:47:04.192Z"),
        ] as [(Int64, String)])
    func `prints years that RFC 3339 has no form for, and refuses to read them`(
        milliseconds: Int64, text: String
    ) {
        #expect(Timestamp(unixMilliseconds: milliseconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test(arguments: [
        "2026-11-20T03:17:04Z", "2026-11-20T03:17:04.0Z", "2026-11-20t03:17:04z",
        "2026-11-20 03:17:04.000000000Z", "2026-11-20T04:17:04+01:00",
        "2026-11-19T22:17:04-05:00", "2026-11-20T08:47:04+05:30", "2026-11-20T03:17:04-00:00",
    ])
    func `reads every offset and fraction as the same moment`(text: String) {
        #expect(Timestamp(rfc3339: text)?.rfc3339 == "2026-11-20T03:17:04.000Z")
    }

    @Test(
        arguments: [
            (".1Z", 100), (".12Z", 120), (".123Z", 123), (".1239Z", 123), (".123999999Z", 123),
        ] as [(String, Int64)])
    func `cuts fractions to milliseconds`(fraction: String, milliseconds: Int64) {
        let time = Timestamp(rfc3339: "1970-01-01T00:00:00" + fraction)
        #expect(time?.unixMilliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2026", "2026-11-20", "2026-11-20T03:17:04", "2026-11-20T03:17Z",
        "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-11-31T00:00:00Z",
        "2026-11-00T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T03:60:00Z",
        "2026-11-20T03:17:61Z", "2026-11-20T03:17:04.Z", "2026-11-20T03:17:04.1234567890Z",
        "2026-11-20T03:17:04+24:00", "2026-11-20T03:17:04+01:60", "2026-11-20T03:17:04+0100",
        "2026-11-20T03:17:04Z ", " 2026-11-20T03:17:04Z", "20261120T031704Z", "1795144624000",
        "２026-11-20T03:17:04Z", "2026-11-20T03:17:04Zjunk", "99999-01-01T00:00:00Z",
    ])
    func `refuses what is not a time`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test func `reads a leap second as the first of the next minute`() {
        #expect(
            Timestamp(rfc3339: "2016-12-31T23:59:60Z")?.rfc3339 == "2017-01-01T00:00:00.000Z")
    }

    @Test func `knows no summer time`() throws {
        let hours = try ["00", "01", "02", "03"].map { hour in
            try #require(Timestamp(rfc3339: "2026-03-29T\(hour):30:00Z")).unixMilliseconds
        }
        #expect(zip(hours, hours.dropFirst()).allSatisfy { $1 - $0 == 3_600_000 })
    }

    @Test(arguments: [7, 0xCA1E_17DA] as [UInt64])
    func `reads back whatever it wrote, and keeps the order`(seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999
        for _ in 0..<2_000 {
            let time = Timestamp(unixMilliseconds: .random(in: range, using: &generator))
            #expect(Timestamp(rfc3339: time.rfc3339) == time, "seed \(seed)")
            let other = Timestamp(unixMilliseconds: .random(in: range, using: &generator))
            #expect((time < other) == (time.rfc3339 < other.rfc3339), "seed \(seed)")
        }
    }

    @Test func `adds and measures inside the range of its number`() {
        let (first, last) = (Timestamp(unixMilliseconds: .min), Timestamp(unixMilliseconds: .max))
        #expect(last.adding(milliseconds: 1) == last)
        #expect(first.adding(milliseconds: -1) == first)
        #expect(Timestamp(unixMilliseconds: 5).adding(milliseconds: -7).unixMilliseconds == -2)
        #expect(last.milliseconds(since: first) == .max)
        #expect(first.milliseconds(since: last) == .min)
        #expect(last.milliseconds(since: last) == 0)
    }

    @Test func `names the UTC day`() {
        #expect(Timestamp(unixMilliseconds: -1).utcDay == "1969-12-31")
        #expect(Timestamp(unixMilliseconds: 1_795_144_624_007).utcDay == "2026-11-20")
    }
}
