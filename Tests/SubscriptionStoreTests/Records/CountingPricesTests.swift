import SubscriptionStore
import Subscriptions
import Testing

/// The list prices that a run's summary adds up.
@Suite struct `Counting prices` {
    private func finding(
        _ kind: FindingKind, _ severity: Severity, of id: String = "1", period: String? = "17",
        _ direction: Direction = .customerLoses, amount: Int64 = 9_990, currency: String = "EUR"
    ) -> Finding {
        var finding = Finding(
            kind: kind, severity: severity, row: LocalSubscription(key: key(id)))
        finding.field = kind.rawValue
        finding.transactionID = period
        finding.direction = direction
        finding.amount = amount
        finding.currency = currency
        return finding
    }

    private func money(_ findings: [Finding]) async throws -> [MoneyTotal] {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        let store = try database.open()
        let night = try await Night.begin(store, Night.header("run-1", mode: .check))
        for (id, own) in Dictionary(grouping: findings, by: { $0.key?.originalTransactionID }) {
            var result = outcome(try #require(id), .discrepancy)
            result.findings = own
            try await night.stage(result)
        }
        let record = try await night.conclude()
        return try record.summary().money
    }

    @Test func `a missed renewal is one price, however many findings tell of it`() async throws {
        let money = try await money([
            finding(.accessMissing, .critical), finding(.expiry, .high),
            finding(.transactionMissing, .high),
        ])
        #expect(
            money == [
                MoneyTotal(currency: "EUR", direction: .customerLoses, amount: 9_990, findings: 1)
            ])
    }

    @Test func `the most severe finding counts`() async throws {
        let money = try await money([
            finding(.expiry, .high, amount: 1), finding(.transactionMissing, .medium, amount: 2),
            finding(.accessMissing, .critical, amount: 3),
        ])
        #expect(money.map(\.amount) == [3])
    }

    @Test func `periods, directions, currencies and subscriptions count apart`() async throws {
        let money = try await money([
            finding(.expiry, .high), finding(.transactionMissing, .high, period: "18"),
            finding(.accessUnpaid, .high, .companyLoses),
            finding(.expiry, .high, of: "2"), finding(.product, .high, currency: "JPY"),
        ])
        #expect(
            money == [
                MoneyTotal(currency: "EUR", direction: .companyLoses, amount: 9_990, findings: 1),
                MoneyTotal(currency: "EUR", direction: .customerLoses, amount: 29_970, findings: 3),
                MoneyTotal(currency: "JPY", direction: .customerLoses, amount: 9_990, findings: 1),
            ])
    }

    @Test func `a difference of price is no period's price`() async throws {
        let money = try await money([
            finding(.status, .medium, .neutral), finding(.price, .medium, .neutral, amount: 10),
            finding(.transactionUnknown, .high, period: nil, .neutral, amount: 100),
        ])
        #expect(money.map(\.amount) == [10_100])
    }
}
