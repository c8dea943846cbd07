import Subscriptions
import Testing

@Suite struct `A record of absences` {
    @Test func `begins with one day`() {
        #expect(
            AbsenceRecord.after(nil, day: "2026-11-20")
                == AbsenceRecord(firstDay: "2026-11-20", lastDay: "2026-11-20", distinctDays: 1))
    }

    @Test func `counts distinct days, with holes between them`() {
        let record = ["2026-11-20", "2026-11-20", "2026-11-23"].reduce(nil as AbsenceRecord?) {
            AbsenceRecord.after($0, day: $1)
        }
        #expect(
            record
                == AbsenceRecord(firstDay: "2026-11-20", lastDay: "2026-11-23", distinctDays: 2))
    }

    @Test func `does not count a day again when the clock goes back`() {
        let record = AbsenceRecord(firstDay: "2026-11-20", lastDay: "2026-11-23", distinctDays: 2)
        #expect(AbsenceRecord.after(record, day: "2026-11-21") == record)
    }
}
