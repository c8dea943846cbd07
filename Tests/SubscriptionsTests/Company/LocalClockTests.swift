import Subscriptions
import Testing

@Suite struct `A clock without an offset` {
    /// A file of a zone as RFC 9636 has it: an empty block of 32 bits, then ours.
    private static func file(
        offsets: [Int32], changes: [(at: Int64, type: UInt8)], footer: String, leaps: Int32 = 0
    ) -> [UInt8] {
        func header(_ times: Int, _ types: Int, _ leaps: Int32) -> [UInt8] {
            var bytes = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
            for count in [0, 0, leaps, Int32(times), Int32(types), Int32(types * 4)] {
                bytes += withBytes(of: Int64(count), 4)
            }
            return bytes
        }
        var bytes = header(0, 0, 0) + header(changes.count, offsets.count, leaps)
        for change in changes { bytes += withBytes(of: change.at, 8) }
        bytes += changes.map(\.type)
        for offset in offsets { bytes += withBytes(of: Int64(offset), 4) + [0, 0] }
        bytes += [UInt8](repeating: 65, count: offsets.count * 4)
        return bytes + Array("\n\(footer)\n".utf8)
    }

    private static func withBytes(of value: Int64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    /// Central Europe: its changes until 1996, and the rule that holds since.
    private static let berlinFile = file(
        offsets: [3208, 3600, 7200],
        changes: [(-2_422_054_408, 1), (828_234_000, 2), (846_378_000, 1)],
        footer: "CET-1CEST,M3.5.0,M10.5.0/3")

    private func clock(_ bytes: [UInt8]) throws -> LocalClock {
        try #require(LocalClock(zone: "Some/Place", tzif: bytes))
    }

    private func time(_ text: String) throws -> Timestamp {
        try #require(Timestamp(rfc3339: text + "Z"))
    }

    @Test(arguments: [
        ("2026-01-15T12:00:00.500", "2026-01-15T11:00:00.500"),
        ("2026-07-15T12:00:00", "2026-07-15T10:00:00"),
        ("2026-03-29T01:59:59.999", "2026-03-29T00:59:59.999"),
        ("2026-03-29T03:00:00", "2026-03-29T01:00:00"),
        ("2026-10-25T01:59:59", "2026-10-24T23:59:59"),
        ("2026-10-25T03:00:00", "2026-10-25T02:00:00"),
        ("1996-07-01T00:00:00", "1996-06-30T22:00:00"),
        ("1850-01-01T00:00:00", "1849-12-31T23:06:32"),
        ("2345-07-01T00:00:00", "2345-06-30T22:00:00"),
    ])
    func `is read and written where a time is one`(local: String, instant: String) throws {
        let clock = try clock(Self.berlinFile)
        #expect(try clock.instant(ofLocal: time(local)) == time(instant))
        #expect(try clock.local(at: time(instant)) == time(local))
    }

    @Test(arguments: [
        "2026-03-29T02:00:00", "2026-03-29T02:30:00", "2026-03-29T02:59:59.999",
        "2026-10-25T02:00:00", "2026-10-25T02:30:00", "2026-10-25T02:59:59.999",
    ])
    func `does not guess a time that was skipped or came twice`(local: String) throws {
        #expect(try clock(Self.berlinFile).instant(ofLocal: time(local)) == nil)
    }

    @Test(arguments: ["2026-10-25T00:00:00", "2026-10-25T00:30:00", "2026-10-25T01:59:59.999"])
    func `is not written what would not read back`(instant: String) throws {
        let clock = try clock(Self.berlinFile)
        #expect(try clock.local(at: time(instant)) == nil)
        let form = ColumnForm.timestamp(clock)
        #expect(try form.literal(.time(time(instant))) == nil)
    }

    @Test func `is read as a column of that form`() throws {
        let form = ColumnForm.timestamp(try clock(Self.berlinFile))
        let noon = FieldValue.time(try time("2026-07-15T10:00:00"))
        #expect(form.value(of: "2026-07-15 12:00:00", as: .time) == noon)
        #expect(form.value(of: "2026-10-25 02:30:00", as: .time) == nil)
        #expect(
            form.literal(noon, spelling: TimeSpelling(of: "2026-01-01 00:00:00"))
                == .text("2026-07-15 12:00:00"))
    }

    @Test func `has its summer over the turn of the year in the south`() throws {
        let clock = try clock(
            Self.file(
                offsets: [36_000], changes: [], footer: "AEST-10AEDT,M10.1.0,M4.1.0/3"))
        #expect(try clock.local(at: time("2026-01-01T00:00:00")) == time("2026-01-01T11:00:00"))
        #expect(try clock.local(at: time("2026-07-01T00:00:00")) == time("2026-07-01T10:00:00"))
        #expect(try clock.instant(ofLocal: time("2026-04-05T02:30:00")) == nil)
        #expect(try clock.instant(ofLocal: time("2026-10-04T02:30:00")) == nil)
    }

    @Test(arguments: ["<+0530>-5:30", "IST-5:30"])
    func `may never change`(footer: String) throws {
        let clock = try clock(Self.file(offsets: [19_800], changes: [], footer: footer))
        #expect(try clock.local(at: time("2026-01-01T00:00:00")) == time("2026-01-01T05:30:00"))
    }

    @Test func `of a fixed offset is never ambiguous`() throws {
        let clock = LocalClock(minutesEast: -90)
        #expect(try clock.local(at: time("2026-03-29T01:00:00")) == time("2026-03-28T23:30:00"))
        #expect(
            try clock.instant(ofLocal: time("2026-03-28T23:30:00")) == time("2026-03-29T01:00:00"))
    }

    @Test func `is refused where its file is cut off, of long ago, or counts leap seconds`() {
        for count in 0..<Self.berlinFile.count {
            let part = Array(Self.berlinFile.prefix(count))
            #expect(LocalClock(zone: "x", tzif: part) == nil, "\(count)")
        }
        let leaps = Self.file(offsets: [0], changes: [], footer: "UTC0", leaps: 1)
        #expect(LocalClock(zone: "x", tzif: leaps) == nil)
        var old = Self.berlinFile
        old[4] = 0
        #expect(LocalClock(zone: "x", tzif: old) == nil)
    }

    @Test(arguments: [
        "CET", "CET-1CEST", "CET-1CEST,J60,J300", "CET-1CEST,M13.1.0,M10.5.0",
        "CET-1CEST,M3.5.0,M10.5.0/3x", "1-1",
    ])
    func `is refused with a rule that is not understood`(footer: String) {
        let bytes = Self.file(offsets: [3600], changes: [], footer: footer)
        #expect(LocalClock(zone: "x", tzif: bytes) == nil)
    }
}
