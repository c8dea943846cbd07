import Reconciliation
import Subscriptions
import Testing

@Suite struct `The newer locally rule` {
    @Test func `changes nothing of a row that was signed later`() throws {
        let row = Sample.row {
            $0.signedDate = Sample.now(days: 1)
            $0.status = 2
        }
        let outcome = try outcome(row, beside: Sample.stated())
        #expect(outcome.verdict == .undecided(.newerLocally))
        #expect(outcome.findings.isEmpty)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `does not take equal for older`() throws {
        let stated = Sample.stated()
        let row = Sample.row {
            $0.signedDate = stated.signedDate
            $0.status = 2
        }
        let policy = Sample.policy { $0.settleMilliseconds = 0 }
        let outcome = try outcome(row, beside: stated, policy)
        #expect(outcome.kinds == [.accessMissing])
        #expect(try outcome.changes() == ["status": "1"])
    }

    @Test func `goes by the earlier of Apple's two signatures`() throws {
        let stated = Sample.stated {
            $0.transaction.signedDate = Sample.now(days: -3)
            $0.renewal.signedDate = Sample.now
        }
        let row = Sample.row { $0.signedDate = Sample.now(days: -2) }
        #expect(try outcome(row, beside: stated).verdict == .undecided(.newerLocally))
    }

    @Test func `compares a local time without milliseconds to the second`() throws {
        let stated = Sample.stated {
            $0.transaction.signedDate = Sample.now(days: -2, milliseconds: -1)
            $0.renewal.signedDate = Sample.now(days: -2, milliseconds: -1)
        }
        let sameSecond = Sample.row { $0.signedDate = Sample.now(days: -2, milliseconds: -1000) }
        #expect(try outcome(sameSecond, beside: stated).verdict == .match)
        let nextSecond = Sample.row { $0.signedDate = Sample.now(days: -2) }
        #expect(try outcome(nextSecond, beside: stated).verdict == .undecided(.newerLocally))
    }

    @Test func `keeps even the first fill from older statements`() throws {
        var row = LocalSubscription(key: Sample.row().key)
        row.signedDate = Sample.now(days: 1)
        let outcome = try outcome(row, beside: Sample.stated())
        #expect(outcome.verdict == .undecided(.newerLocally))
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `also one that is older than a statement which found the row in agreement`() throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) {
            $0.signedDate = Sample.now(days: -9)
            $0.autoRenewStatus = 0
        }
        var item = Sample.item(row, [stated])
        item.asked?.newestStatement = stated.signedDate.adding(milliseconds: 1)
        let older = try outcome(item)
        #expect(older.verdict == .undecided(.newerLocally))
        #expect(older.corrections.isEmpty && older.statedAt == stated.signedDate)
        item.asked?.newestStatement = stated.signedDate
        let equal = try outcome(item)
        #expect(equal.kinds == [.renewalPreference])
        #expect(equal.corrections.map(\.restsOn) == [stated.signedDate])
    }

    @Test func `a date more than a day after the run's clock counts as none`() throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) {
            $0.signedDate = Sample.now(days: 2)
            $0.autoRenewStatus = 0
        }
        var item = Sample.item(row, [stated])
        item.asked?.newestStatement = Sample.now(days: 2)
        let outcome = try outcome(item)
        #expect(Set(outcome.kinds) == [.renewalPreference, .unreadableValue])
        #expect(try outcome.finding(.unreadableValue).field == "signed_date")
        #expect(try outcome.changes()["signed_date"] == stated.signedDate.rfc3339)
    }
}
