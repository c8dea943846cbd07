import Foundation
import Reconciliation
import SubscriptionStore
import Subscriptions
import Testing

/// What a comparison with RevenueCat takes from stored rows, periods and corrections as signed by Apple.
@Suite struct `Comparing stored rows with RevenueCat` {
    private let database: TemporaryDatabase
    private let store: SQLiteStore

    init() throws {
        database = try TemporaryDatabase()
        store = try database.open()
        var row = subscription("1")
        row.latestTransactionID = "12"
        row.productID = "pro"
        row.expiresDate = Timestamp(unixMilliseconds: Night.start)
        try store.load([row])
        try database.execute(
            """
            INSERT INTO transactions (
                transaction_id, original_transaction_id, environment, bundle_id, product_id, price)
            VALUES ('11', '1', 'Production', 'com.example.app', 'pro', 990),
                ('12', '1', 'Production', 'com.example.app', 'pro', 990)
            """)
    }

    /// A run that checks the row and reads its history.
    private func check(
        run id: String = "run-1", finding kind: FindingKind? = nil, of field: String = "",
        readsHistory: Bool = true,
        correcting correction: PlannedCorrection? = nil, by evidence: [SignedPayload] = []
    ) async throws {
        let night = try await Night.begin(store, Night.header(id))
        let row = try #require(try await store.rows(holding: ["1"]).first).row
        var result = outcome("1", kind == nil ? .match : .discrepancy)
        result.check = RowCheck(
            signedDate: Timestamp(unixMilliseconds: Night.start), clock: nil, isLasting: true,
            values: ValuesDigest(of: row))
        result.examined = .periods
        if let kind {
            var finding = Finding(kind: kind, severity: .medium, row: row)
            finding.field = field
            result.findings = [finding]
        }
        result.corrections = [correction].compactMap(\.self)
        result.evidence = evidence
        try await night.stage(result, revisions: readsHistory ? ["1": "r1"] : [:])
        try await night.apply()
        try await night.conclude()
    }

    private func line(_ id: String, price: Int64? = nil, product: String = "pro") -> RevenueCatLine
    {
        var line = RevenueCatLine(originalTransactionID: "1", transactionID: id)
        line.productID = product
        line.price = price
        return line
    }

    private func compare(
        _ lines: [RevenueCatLine], app: String = "com.example.app"
    ) throws -> (totals: CompareTotals, differences: [CompareDifference], counts: [CompareCount]) {
        let scratch = try CompareScratch(at: database.folder.path + "/scratch")
        defer { scratch.remove() }
        _ = try scratch.load { add in for line in lines { try add(line) } }
        let now = Timestamp(unixMilliseconds: Night.start + 60_000)
        let totals = try store.compareWithRevenueCat(
            scratch, newest: now,
            policy: RevenueCatPolicy(
                now: now, freshMilliseconds: Milliseconds.perDay, catalogue: nil,
                rules: RevenueCatRule.all.filter {
                    [.revenueCatProduct, .revenueCatPeriod, .revenueCatPrice].contains($0.kind)
                }, notFoundConfirmations: 3, asks: false,
                apps: [AppIdentity(bundleID: app, environment: .production)])
        ).totals
        var differences: [CompareDifference] = []
        try scratch.forEachDifference { differences.append($0) }
        return (totals, differences, try scratch.counts())
    }

    @Test func `a value that a run found to be another than Apple's is not taken for Apple's`()
        async throws
    {
        try await check(finding: .product, of: "product_id")
        let compared = try compare([line("11", product: "plus"), line("12", product: "plus")])
        #expect(compared.totals.reasons == [.rowChanged: 2])
        #expect(compared.differences.isEmpty)
    }

    @Test func `an id that a run did not find on enough days is not found`() throws {
        #expect(try compare([line("12")]).totals.reasons == [.neverChecked: 1])
        try database.execute(
            """
            INSERT INTO trueup_absences
            VALUES ('com.example.app', 'Production', '1', '2026-11-25', '2026-11-25', 1)
            """)
        #expect(try compare([line("12")]).totals.reasons == [.notFound: 1])
    }

    @Test func `a price that a run found to be another than Apple's is not compared`() async throws
    {
        try await check(finding: .price, of: "price:11")
        let compared = try compare([line("11", price: 0), line("12", price: 0)])
        #expect(compared.totals.reasons == [.rowChanged: 1])
        #expect(compared.differences.map(\.transactionID) == ["12"])
        // Another value of the same line is compared all the same.
        let other = try compare([line("11", price: 990, product: "plus"), line("12", price: 990)])
        #expect(other.differences.map(\.kind) == [.revenueCatProduct])
        #expect(other.totals.matched == 1)
    }

    @Test(arguments: ["12", "13"])
    func `a history that ends before the latest transaction shows no absence`(
        latest: String
    ) async throws {
        try database.execute("UPDATE subscriptions SET latest_transaction_id = '\(latest)'")
        try await check()
        let compared = try compare([line("11"), line("12"), line("99")])
        let missing = compared.differences.filter { $0.kind == .revenueCatMissing }
        #expect(compared.totals.matched == 2)
        #expect(compared.totals.onlyTheirs == (latest == "12" ? 1 : 0))
        #expect(compared.totals.reasons == (latest == "12" ? [:] : [.periodNotStored: 1]))
        #expect(missing.map(\.transactionID) == (latest == "12" ? [] : ["13"]))
    }

    @Test func `a transaction that only a changed row names is not missing`() async throws {
        try await check()
        try database.execute("UPDATE subscriptions SET latest_transaction_id = '77'")
        let compared = try compare([line("11")])
        #expect(compared.totals.reasons == [.rowChanged: 1])
        #expect(compared.differences.map(\.transactionID) == ["12"])
        #expect(compared.differences.map(\.direction) == [.neutral])
    }

    @Test(arguments: ["11", "12"])
    func `a difference has the payload of a correction only if that is about its transaction`(
        signed: String
    ) async throws {
        try database.execute("DELETE FROM transactions")
        let evidence = payload("{\"transactionId\":\"\(signed)\"}")
        let correction = PlannedCorrection(
            target: .update(key("1"), expectedRowVersion: 1),
            changes: .subscription([
                .gracePeriodExpiresDate: FieldChange(
                    before: .null, after: .time(Timestamp(unixMilliseconds: 7)))
            ]), kinds: [.expiry], evidence: evidence.digest, evidenceRenewal: nil,
            appleSignedDate: Timestamp(unixMilliseconds: Night.start),
            reason: "Apple says otherwise.")
        try await check(readsHistory: false, correcting: correction, by: [evidence])
        // The check notes the row as it is once the correction is written.
        try await check(run: "run-2", readsHistory: false)
        let compared = try compare([line("12", product: "plus")])
        #expect(compared.differences.map(\.kind) == [.revenueCatProduct])
        #expect(try database.value("SELECT count(*) FROM trueup_ledger") == "1")
        #expect(
            compared.differences.map(\.evidence) == [signed == "12" ? evidence.digest : nil])
        // The auditor knows the configured apps alone.
        let other = try compare([line("12", product: "plus")], app: "com.example.other")
        #expect(other.differences.map(\.kind) == [.revenueCatProduct])
        #expect(other.differences.map(\.evidence) == [nil])
    }

    @Test func `a line that differs in two values counts once as a line`() async throws {
        try database.execute("UPDATE transactions SET purchase_date = 1, expires_date = 2")
        try await check()
        var other = line("11")
        other.startTime = Timestamp(unixMilliseconds: 86_400_000)
        other.endTime = Timestamp(unixMilliseconds: 172_800_000)
        let counts = try compare([other, line("12")]).counts
        #expect(counts.map(\.differences) == [2])
        #expect(counts.map(\.lines) == [1])
        #expect(counts.map(\.customers) == [1])
    }
}
