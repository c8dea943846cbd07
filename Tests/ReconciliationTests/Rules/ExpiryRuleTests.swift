import Reconciliation
import Subscriptions
import Testing

@Suite struct `The expiry rule` {
    @Test(arguments: [(-30, Direction.customerLoses), (30, .companyLoses)] as [(Int64, Direction)])
    func `states the direction`(days: Int64, direction: Direction) throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) { $0.expiresDate = Sample.now(days: 20 + days) }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.expiry])
        let finding = try outcome.finding(.expiry)
        #expect(finding.severity == .high)
        #expect(finding.direction == direction)
        #expect(finding.amount == 10_990)
        #expect(try Set(outcome.changes().keys) == ["expires_date", "signed_date"])
    }

    @Test func `moves the ids of the period with its end`() throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) {
            $0.expiresDate = Sample.now(days: -10)
            $0.latestTransactionID = "2000000000000001"
            $0.webOrderLineItemID = "2000000000000002"
        }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.expiry])
        #expect(
            try Set(outcome.changes().keys)
                == [
                    "expires_date", "latest_transaction_id", "web_order_line_item_id",
                    "signed_date",
                ])
    }

    @Test(arguments: [0, 1, 999])
    func `compares a local time without milliseconds to the second`(apples: Int64) throws {
        let stated = Sample.stated {
            $0.transaction.expiresDate = Sample.now(days: 20, milliseconds: apples)
        }
        let row = Sample.row(of: stated) { $0.expiresDate = Sample.now(days: 20) }
        #expect(try outcome(row, beside: stated).verdict == .match)
    }

    @Test(arguments: [1, 1000])
    func `finds a difference that is not the missing milliseconds`(apples: Int64) throws {
        let stated = Sample.stated {
            $0.transaction.expiresDate = Sample.now(days: 20, milliseconds: apples)
        }
        let row = Sample.row(of: stated) {
            $0.expiresDate = Sample.now(days: 20, milliseconds: apples == 1 ? 2 : 0)
        }
        #expect(try outcome(row, beside: stated).kinds == [.expiry])
    }

    @Test(arguments: [(0, 987, 0), (1, 987, 900), (2, 987, 980)] as [(Int, Int64, Int64)])
    func `compares what a column of the company's keeps, and never rounds up`(
        digits: Int, apples: Int64, ours: Int64
    ) throws {
        let stated = Sample.stated {
            $0.transaction.expiresDate = Sample.now(days: 20, milliseconds: apples)
        }
        let policy = Sample.policy {
            $0.kept.precision = TimePrecision(digits: [.expiresDate: digits])
        }
        func kinds(_ milliseconds: Int64) throws -> [FindingKind] {
            let row = Sample.row(of: stated) {
                $0.expiresDate = Sample.now(days: 20, milliseconds: milliseconds)
            }
            return try outcome(Sample.item(row, [stated]), policy, of: Sample.id).kinds
        }
        #expect(try kinds(ours).isEmpty)
        #expect(try kinds(ours + 1) == [.expiry])
        #expect(try kinds(1000) == [.expiry])
    }

    @Test func `cuts milliseconds before 1970 downwards`() throws {
        let stated = Sample.stated(Sample.id, .expired) {
            $0.transaction.expiresDate = Timestamp(unixMilliseconds: -1)
        }
        let row = Sample.row(of: stated) { $0.expiresDate = Timestamp(unixMilliseconds: -1000) }
        #expect(try outcome(row, beside: stated).verdict == .match)
    }

    /// Whether an extension moves `expiresDate` or only `renewalDate` is not documented.
    private let extended = Sample.stated {
        $0.transaction.expiresDate = Sample.now(days: 5)
        $0.renewal.renewalDate = Sample.now(days: 35)
    }

    @Test(arguments: [5, 20, 35])
    func `never writes back an earlier end than an extended renewal date`(days: Int64) throws {
        let row = Sample.row(of: extended) { $0.expiresDate = Sample.now(days: days) }
        let outcome = try outcome(row, beside: extended)
        #expect(outcome.verdict == .match)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `nor together with another correction`() throws {
        let row = Sample.row(of: extended) {
            $0.expiresDate = Sample.now(days: 35)
            $0.autoRenewStatus = 0
        }
        let outcome = try outcome(row, beside: extended)
        #expect(outcome.kinds == [.renewalPreference])
        #expect(Set(try outcome.changes().keys) == ["auto_renew_status", "signed_date"])
    }

    @Test func `an end later than the extended renewal date is for a person to fix`() throws {
        let row = Sample.row(of: extended) {
            $0.expiresDate = Sample.now(days: 60)
            $0.autoRenewStatus = 0
        }
        let outcome = try outcome(row, beside: extended)
        #expect(outcome.kinds == [.expiry, .renewalPreference])
        #expect(try outcome.finding(.expiry).action == .none)
        #expect(Set(try outcome.changes().keys) == ["auto_renew_status", "signed_date"])
    }

    @Test func `an end before both is corrected to the signed transaction's`() throws {
        let row = Sample.row(of: extended) { $0.expiresDate = Sample.now(days: -25) }
        let outcome = try outcome(row, beside: extended)
        #expect(outcome.kinds == [.expiry])
        #expect(try outcome.changes()["expires_date"] == Sample.now(days: 5).rfc3339)
    }

    @Test func `a later renewal date gives an ended subscription nothing`() throws {
        let stated = Sample.stated(Sample.id, .billingRetry) {
            $0.renewal.renewalDate = Sample.now(days: 3)
        }
        let row = Sample.row(of: stated) { $0.expiresDate = Sample.now(days: 2) }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.expiry])
        #expect(outcome.corrections.count == 1)
    }

    @Test func `says nothing of an end that one side does not state`() throws {
        let stated = Sample.stated()
        let unknown = Sample.row(of: stated) { $0.expiresDate = nil }
        #expect(try outcome(unknown, beside: stated).verdict == .match)
        let silent = Sample.stated { $0.transaction.expiresDate = nil }
        #expect(try outcome(Sample.row(of: stated), beside: silent).verdict == .match)
    }

    @Test(arguments: [Int64.min, -62_167_219_200_000, 253_402_300_800_000, .max])
    func `survives ends far outside the calendar`(milliseconds: Int64) throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) {
            $0.expiresDate = Timestamp(unixMilliseconds: milliseconds)
        }
        #expect(try outcome(row, beside: stated).kinds == [.expiry])
    }
}
