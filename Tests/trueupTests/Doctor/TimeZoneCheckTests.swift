import SubscriptionStore
import Subscriptions
import Testing
import trueup

@Suite struct `Time zones of stored times` {
    private let hour: Int64 = 3_600_000

    private func differences(_ rows: [Int64: Int], compared: Int = 100) -> ExpiryDifferences {
        var differences = ExpiryDifferences()
        differences.rows = rows
        differences.compared = compared
        return differences
    }

    @Test func `are warned of where most rows are off by the same offset`() {
        let found = Diagnosis.ofTimeZone(
            differences([2 * hour: 40, hour: 3, -24 * 900_000: 1]),
            offsets: [hour, 2 * hour])
        #expect(found.outcome == .warning)
        #expect(found.detail.contains("40 rows is 2 h off"))
        #expect(found.detail.contains("as far as this machine's"))
        #expect(found.fix?.contains("max_own_fault") == true)
        #expect(found.status == .ok)
    }

    @Test func `need not be this machine's`() {
        let found = Diagnosis.ofTimeZone(
            differences([-(hour * 3 + hour / 2): 9]), offsets: [0])
        #expect(found.outcome == .warning)
        #expect(found.detail.contains("-3 h 30 min off"))
        #expect(!found.detail.contains("as far as"))
        #expect(found.detail.contains("this machine's is UTC"))
    }

    @Test func `are no matter of a few rows, or of different offsets`() {
        for rows in [[:], [2 * hour: 4], [hour: 10, 2 * hour: 10]] {
            let found = Diagnosis.ofTimeZone(differences(rows), offsets: [0])
            #expect(found.outcome == .ok, "\(rows)")
        }
        let nothing = Diagnosis.ofTimeZone(nil, offsets: [hour])
        #expect(nothing.outcome == .skipped)
        #expect(nothing.detail.contains("+1 h"))
    }
}
