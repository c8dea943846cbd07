import Reconciliation
import Subscriptions
import Testing

@Suite struct `A pattern in one value` {
    private func pattern(_ milliseconds: Int64, mayBeZone: Bool = true) -> ValuePattern? {
        ValuePattern(
            ours: .time(Sample.now(milliseconds: milliseconds)), theirs: .time(Sample.now),
            mayBeZone: mayBeZone)
    }

    static let zones: [(minutes: Int64, hours: String)] = [
        (480, "+8"), (-300, "-5"), (345, "+5:45"), (-570, "-9:30"), (840, "+14"), (-720, "-12"),
    ]
    static let others: [Int64] = [0, 400, 60_000, 28_801_000, 86_400_000, 54_000_000]

    @Test(arguments: zones)
    func `is a time zone's distance from UTC`(minutes: Int64, hours: String) {
        #expect(pattern(minutes * 60_000) == .offset(minutes: minutes))
        // Cut to the second on the way.
        #expect(pattern(minutes * 60_000 - 999) == .offset(minutes: minutes))
        #expect(
            pattern(minutes * 60_000)?.cause == "time zone: constant offset of \(hours) h")
    }

    @Test(arguments: others)
    func `is no other distance`(milliseconds: Int64) {
        #expect(pattern(milliseconds) == nil)
    }

    @Test func `is no time zone where quarters of an hour are ordinary`() {
        #expect(pattern(3_600_000, mayBeZone: false) == nil)
    }

    @Test func `is seconds for milliseconds, and the other way round`() {
        let milliseconds = Sample.now.unixMilliseconds
        let seconds = FieldValue.time(Timestamp(unixMilliseconds: milliseconds / 1000))
        let apple = FieldValue.time(Timestamp(unixMilliseconds: milliseconds + 123))
        #expect(ValuePattern(ours: seconds, theirs: apple) == .secondsForMilliseconds)
        #expect(
            ValuePattern(
                ours: .time(Timestamp(unixMilliseconds: milliseconds * 1000)),
                theirs: .time(Sample.now)) == .millisecondsForSeconds)
    }

    @Test func `is an amount in units or cents for milliunits`() {
        #expect(
            ValuePattern(ours: .integer(9), theirs: .integer(9000))
                == .factor(ours: 1, theirs: 1000))
        #expect(
            ValuePattern(ours: .integer(999), theirs: .integer(9990))
                == .factor(ours: 1, theirs: 10)
        )
        #expect(
            ValuePattern(ours: .integer(9_990_000), theirs: .integer(9990))
                == .factor(ours: 1000, theirs: 1))
        #expect(ValuePattern(ours: .integer(9), theirs: .integer(10)) == nil)
        #expect(ValuePattern(ours: .integer(0), theirs: .integer(0)) == nil)
    }

    @Test func `survives every value`() {
        let extremes: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
        for ours in extremes {
            for theirs in extremes {
                let times = ValuePattern(
                    ours: .time(Timestamp(unixMilliseconds: ours)),
                    theirs: .time(Timestamp(unixMilliseconds: theirs)))
                let numbers = ValuePattern(ours: .integer(ours), theirs: .integer(theirs))
                #expect(times == nil && numbers == nil, "\(ours) \(theirs)")
            }
        }
        #expect(ValuePattern(ours: .text("1"), theirs: .integer(1000)) == nil)
        #expect(ValuePattern(ours: .null, theirs: .null) == nil)
    }
}
