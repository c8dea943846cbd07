import SubscriptionStore
import Subscriptions
import Testing

/// Inserting one-time purchases and changing their refunds, and taking that back.
@Suite struct `Correcting purchases` {
    private func purchase(_ id: String) -> TransactionKey {
        TransactionKey(bundleID: app.bundleID, environment: "Production", transactionID: id)
    }

    private func outcome(
        _ id: String, _ target: PlannedCorrection.Target,
        _ changes: [TransactionField: FieldChange], _ kind: FindingKind
    ) -> RowOutcome {
        var result = RowOutcome(key: key(id), verdict: nil)
        let evidence = payload("purchase\(id)")
        result.evidence = [evidence]
        result.purchase = JudgedPurchase(key: purchase(id), verdict: .discrepancy)
        result.examined = .periods
        result.corrections = [
            PlannedCorrection(
                target: target, changes: .purchase(changes), kinds: [kind],
                evidence: evidence.digest, evidenceRenewal: nil,
                appleSignedDate: Timestamp(unixMilliseconds: 5000), reason: "Takes over.")
        ]
        return result
    }

    private func refund(_ id: String) -> RowOutcome {
        let signed = FieldChange(
            before: .time(Timestamp(unixMilliseconds: 4000)),
            after: .time(Timestamp(unixMilliseconds: 5000)))
        return outcome(
            id, .updatePeriod(purchase(id), of: key(id)),
            [
                .revocationDate: FieldChange(
                    before: .null, after: .time(Timestamp(unixMilliseconds: 4500))),
                .revocationPercentage: FieldChange(before: .null, after: .integer(50_000)),
                .signedDate: signed,
            ], .purchaseRefundMissed)
    }

    private func missing(_ id: String) -> RowOutcome {
        outcome(
            id, .insertPeriod(purchase(id), of: key(id)),
            [
                .transactionID: FieldChange(before: .null, after: .text(id)),
                .originalTransactionID: FieldChange(before: .null, after: .text(id)),
                .bundleID: FieldChange(before: .null, after: .text(app.bundleID)),
                .environment: FieldChange(before: .null, after: .text("Production")),
                .customerID: FieldChange(before: .null, after: .text("c")),
                .quantity: FieldChange(before: .null, after: .integer(3)),
                .signedDate: FieldChange(
                    before: .null, after: .time(Timestamp(unixMilliseconds: 5000))),
            ], .purchaseMissing)
    }

    private func held(_ database: TemporaryDatabase) throws -> SQLiteStore {
        let store = try database.open()
        try store.load([subscription("1")])
        try database.execute(
            """
            INSERT INTO purchases (
                transaction_id, original_transaction_id, environment, bundle_id, product_id,
                signed_date)
            VALUES ('11', '11', 'Production', 'com.example.app', 'coins', 4000),
                ('12', '12', 'Production', 'com.example.app', 'coins', 4000)
            """)
        return store
    }

    private func purchases(_ database: TemporaryDatabase) throws -> [[String]] {
        try database.rows("SELECT * FROM purchases")
    }

    private func written(
        _ store: SQLiteStore, _ outcomes: [RowOutcome], run: String = "run-1",
        _ meanwhile: () throws -> Void = {}
    ) async throws -> SQLiteRunRecord {
        let night = try await Night.begin(store, Night.header(run))
        for outcome in outcomes { try await night.stage(outcome, revisions: [:]) }
        try meanwhile()
        try await night.apply()
        return try await night.conclude()
    }

    @Test func `writes the refund and the missing purchase, each with an entry`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        let record = try await written(store, [refund("11"), missing("13")])
        #expect(
            try database.rows(
                """
                SELECT transaction_id, revocation_date, revocation_percentage, signed_date,
                    customer_id, quantity FROM purchases
                """) == [
                    ["11", "4500", "50000", "5000", "NULL", "NULL"],
                    ["12", "NULL", "NULL", "4000", "NULL", "NULL"],
                    ["13", "NULL", "NULL", "5000", "c", "3"],
                ])
        let entries = try record.entries()
        #expect(entries.map(\.table) == ["purchases", "purchases"])
        #expect(Set(entries.compactMap(\.action)) == [.update, .insert])
        #expect(Set(entries.compactMap(\.transactionID)) == ["11", "13"])
        // No row of the table of subscriptions was judged.
        let totals = try record.summary().totals
        #expect(totals.matched == 0 && totals.discrepant == 0 && totals.inScope == 0)
        #expect(try database.value("SELECT count(*) FROM transactions") == "0")
    }

    @Test(arguments: [
        "UPDATE purchases SET revocation_date = 1 WHERE transaction_id = '11'",
        "UPDATE purchases SET revocation_percentage = 'all' WHERE transaction_id = '11'",
        "UPDATE purchases SET signed_date = 6000 WHERE transaction_id = '11'",
        "UPDATE purchases SET original_transaction_id = '2' WHERE transaction_id = '11'",
        "DELETE FROM purchases WHERE transaction_id = '11'",
    ])
    func `leaves a purchase that somebody wrote to since it was read`(
        change: String
    ) async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        var changed: [[String]] = []
        let record = try await written(store, [refund("11")]) {
            try database.execute(change)
            changed = try purchases(database)
        }
        #expect(try purchases(database) == changed)
        #expect(try record.fates() == [.stale])
        #expect(try record.entries().isEmpty)
    }

    @Test(arguments: [[], ["limit 20"], ["app com.example.app/production"]])
    func `of an earlier run's plan are a share of the stored ones of its apps`(
        filters: [String]
    ) async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        try database.execute(
            """
            INSERT INTO purchases (
                transaction_id, original_transaction_id, environment, bundle_id)
            VALUES ('21', '21', 'Production', 'com.example.other')
            """)
        var checking = Night.header("check", mode: .check)
        checking.filters = filters
        let check = try await Night.begin(store, checking)
        try await check.stage(refund("11"))
        let plan = try #require(try await check.conclude().summary().plan)
        var applying = Night.header("apply", job: "apply nightly")
        applying.filters = filters
        let night = try await Night.begin(store, applying)
        try await store.stagePlan(plan.sha256, in: night.pass, run: night.run)
        let totals = try await store.planTotals(of: night.pass)
        #expect(totals.purchaseChanges == 1)
        #expect(totals.purchases == (RunHeader.isForAppsAlone(filters) ? 2 : 3))
    }

    @Test func `inserts no purchase that a service stored meanwhile`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        let record = try await written(store, [missing("13")]) {
            try database.execute(
                """
                INSERT INTO purchases (
                    transaction_id, original_transaction_id, environment, bundle_id)
                VALUES ('13', '13', 'Production', 'com.example.app')
                """)
        }
        #expect(try record.fates() == [.stale])
        #expect(
            try database.value("SELECT quantity FROM purchases WHERE transaction_id = '13'")
                == "NULL")
    }

    /// A purchase has no row of a subscription, and no check of it is recorded.
    @Test func `are explained by their own rows`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        _ = try await written(store, [refund("11")])
        func explained(_ id: String) throws -> SubscriptionExplanation? {
            try store.explanations(
                of: id, apps: [app], nights: 1, at: Timestamp(unixMilliseconds: Night.start)
            ).first
        }
        let corrected = try #require(try explained("11"))
        #expect(corrected.isPurchase && corrected.row == nil)
        #expect(corrected.purchase?.revocationPercentage == 50_000)
        #expect(corrected.corrections.map(\.transactionID) == ["11"])
        // Nothing but its row is known of the other.
        #expect(try explained("12")?.purchase?.productID == "coins")
        #expect(try explained("1")?.isPurchase == false)
        #expect(try explained("13") == nil)
    }

    @Test func `undo restores both to the letter`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        let before = try purchases(database)
        _ = try await written(store, [refund("11"), missing("13")])
        let night = try await Night.begin(store, Night.header("undo", job: "undo run-1"))
        let counts = try await store.stageUndo(ofRun: "run-1", in: night.pass, run: night.run)
        try await night.apply()
        let record = try await night.conclude()
        #expect(counts.ready == 2)
        #expect(try purchases(database) == before)
        #expect(Set(try record.entries().compactMap(\.undoOf)) == [1, 2])
        #expect(Set(try record.entries().compactMap(\.action)) == [.update, .delete])
    }

    /// A notification tells of a refund, and the history read later of its reversal; or the other way
    /// round.
    @Test(arguments: [true, false])
    func `follows the statement that Apple signed last`(isOlderFirst: Bool) async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        var older = refund("11")
        older.statedAt = Timestamp(unixMilliseconds: 5000)
        var newer = RowOutcome(key: key("11"), verdict: nil)
        newer.purchase = JudgedPurchase(key: purchase("11"), verdict: .discrepancy)
        newer.examined = .periods
        newer.statedAt = Timestamp(unixMilliseconds: 6000)
        let before = try purchases(database)
        let record = try await written(store, isOlderFirst ? [older, newer] : [newer, older])
        #expect(try purchases(database) == before)
        #expect(try record.entries().isEmpty)
    }

    @Test func `closes what the company fixed itself, once it is checked again`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        var reported = RowOutcome(key: key("11"), verdict: nil)
        reported.purchase = JudgedPurchase(key: purchase("11"), verdict: .discrepancy)
        var finding = Finding(
            kind: .purchaseRefundMissed, severity: .high, bundleID: app.bundleID,
            environment: "Production")
        finding.key = key("11")
        finding.transactionID = "11"
        finding.action = .refused
        reported.findings = [finding]
        _ = try await written(store, [reported])
        #expect(try database.value("SELECT state FROM trueup_findings") == "new")
        // A run that does not check the purchase leaves it open.
        _ = try await written(store, [], run: "run-2")
        #expect(try database.value("SELECT state FROM trueup_findings") == "new")
        var agreeing = reported
        agreeing.findings = []
        agreeing.examined = .periods
        _ = try await written(store, [agreeing], run: "run-3")
        #expect(try database.value("SELECT state FROM trueup_findings") == "resolved")
    }

    @Test func `are read by their ids, of an app that stores any`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        #expect(try await store.purchases(of: app, holding: ["11"]) == nil)
        try database.execute(
            """
            INSERT INTO purchases (transaction_id, original_transaction_id, environment, bundle_id)
            VALUES ('11', '11', 'Production', 'com.example.app'),
                ('11', '11', 'Sandbox', 'com.example.app')
            """)
        let found = try #require(try await store.purchases(of: app, holding: ["11", "12"]))
        #expect(found.map(\.key.transactionID) == ["11"])
        #expect(found.map(\.key.environment) == ["Production"])
    }

    @Test func `have their customers read once in so many days, a part each night`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        try database.execute(
            """
            UPDATE purchases SET customer_id = 'a';
            INSERT INTO purchases (
                transaction_id, original_transaction_id, environment, bundle_id, customer_id)
            VALUES ('13', '13', 'Production', 'com.example.app', 'b'),
                ('14', '14', 'Production', 'com.example.app', NULL),
                ('15', '15', 'Sandbox', 'com.example.app', 'c')
            """)
        func sweep(day: Int64) -> RefundSweep {
            RefundSweep(
                app: app, days: 2, now: Timestamp(unixMilliseconds: Night.start + day * 86_400_000))
        }
        #expect(try await store.customersToRead(in: sweep(day: 0)).customers == 3)
        #expect(try await store.customersToRead(in: sweep(day: 0)).tonight == 2)
        let night = try await Night.begin(store, Night.header("run-1"))
        func due(_ day: Int64, _ night: Night, after id: String? = nil) async throws -> [String] {
            try await store.dueRefunds(
                of: sweep(day: day), after: id, limit: 10, in: night.pass
            ).map { customer in
                let name =
                    switch customer.customer {
                    case .named(let name): "c:" + name
                    case .unnamed(let id): "t:" + id
                    }
                return name + " " + customer.transactionID
            }
        }
        #expect(try await due(0, night) == ["c:a 11", "c:a 12", "c:b 13", "t:14 14"])
        #expect(try await due(0, night, after: "12") == ["c:b 13", "t:14 14"])
        // A purchase that the run has compared already tells enough.
        try await night.stage(refund("13"))
        try await store.stage(
            [],
            ofRefundsOf: RefundedCustomer(
                customer: .named("a"), transactionID: "11", hasSubscription: false),
            in: sweep(day: 0), pass: night.pass, run: night.run)
        #expect(try await due(0, night) == ["t:14 14"])
        try await night.conclude()
        let next = try await Night.begin(store, Night.header("run-2", at: Night.start + 1))
        #expect(try await due(1, next) == ["c:b 13", "t:14 14"])
        #expect(try await due(3, next) == ["c:a 11", "c:a 12", "c:b 13", "t:14 14"])
        _ = try await store.eraseEvidence(
            ofCustomer: "a", at: Timestamp(unixMilliseconds: Night.start))
        #expect(try database.value("SELECT count(*) FROM trueup_refund_reads") == "0")
    }

    @Test func `of a customer are read by the name, or by the purchase without one`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        try database.execute(
            """
            UPDATE purchases SET customer_id = 'a';
            INSERT INTO purchases (
                transaction_id, original_transaction_id, environment, bundle_id, customer_id)
            VALUES ('13', '13', 'Production', 'com.example.app', ''),
                ('14', '14', 'Sandbox', 'com.example.app', 'a');
            UPDATE subscriptions SET customer_id = 'a';
            """)
        func ids(_ customer: PurchaseCustomer, _ limit: Int = 10) async throws -> [String] {
            try await store.purchases(of: customer, in: app, limit: limit)
                .map(\.key.transactionID)
        }
        #expect(try await ids(.named("a")) == ["11", "12"])
        #expect(try await ids(.named("a"), 1) == ["11"])
        #expect(try await ids(.named("b")) == [])
        #expect(try await ids(.unnamed("13")) == ["13"])
        let sweep = RefundSweep(
            app: app, days: 2, now: Timestamp(unixMilliseconds: Night.start))
        let count = try await store.customersToRead(in: sweep)
        #expect((count.due, count.dueWithoutSubscription) == (2, 1))
        let night = try await Night.begin(store, Night.header("run-1"))
        let due = try await store.dueRefunds(of: sweep, after: nil, limit: 10, in: night.pass)
        #expect(due.map(\.hasSubscription) == [true, true, false])
        #expect(due.map(\.customer) == [.named("a"), .named("a"), .unnamed("13")])
    }

    /// A page of a history has 20 transactions.
    @Test func `fill pages of histories with the periods of their customer`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        let rows = (100..<140).map { id in
            let owner = id < 119 ? "'a'" : id < 120 ? "NULL" : "'b'"
            return "('\(id)', '\(id)', 'Production', 'com.example.app', \(owner))"
        }
        try database.execute(
            """
            UPDATE subscriptions SET customer_id = 'a';
            DELETE FROM purchases;
            INSERT INTO purchases (
                transaction_id, original_transaction_id, environment, bundle_id, customer_id)
            VALUES \(rows.joined(separator: ", "));
            INSERT INTO transactions (
                transaction_id, original_transaction_id, environment, bundle_id)
            VALUES ('1', '1', 'Production', 'com.example.app')
            """)
        // 19 purchases and a period: one page. The customer `b` has no subscription.
        #expect(try await store.historyPages(of: app) == HistoryPages(customers: 1, further: 0))
        try database.execute("UPDATE purchases SET customer_id = 'a' WHERE transaction_id < '121'")
        #expect(try await store.historyPages(of: app) == HistoryPages(customers: 1, further: 1))
    }

    @Test func `unknown to Apple stay a finding until the row is gone`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try held(database)
        var finding = Finding(
            kind: .purchaseUnknown, severity: .high, bundleID: app.bundleID,
            environment: "Production")
        finding.key = key("11")
        finding.field = "11"
        finding.transactionID = "11"
        var unknown = RowOutcome(key: key("11"), verdict: nil)
        unknown.findings = [finding]
        unknown.examined = .periods
        func open() throws -> String? {
            try database.value(
                "SELECT count(*) FROM trueup_findings WHERE state IN ('new', 'open')")
        }
        let first = try await Night.begin(store, Night.header("run-1"))
        try await first.stage(unknown)
        try await first.conclude()
        #expect(try open() == "1")
        // A run that did not look at the purchase says nothing about it.
        let second = try await Night.begin(store, Night.header("run-2", at: Night.start + 1))
        try await second.conclude()
        #expect(try open() == "1")
        try database.execute("DELETE FROM purchases WHERE transaction_id = '11'")
        let third = try await Night.begin(store, Night.header("run-3", at: Night.start + 2))
        var conclusion = RunConclusion(
            ended: third.run.started, statuses: [.ok], messages: [], limits: [], calls: [],
            closesPass: true)
        conclusion.acceptedTableRows = 1
        try await store.conclude(conclusion, in: third.pass, run: third.run)
        #expect(try open() == "0")
    }

    @Test func `are read again where nothing of the reading was reported`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        let sweep = RefundSweep(
            app: app, days: 2, now: Timestamp(unixMilliseconds: Night.start))
        let killed = try await Night.begin(store, Night.header("run-1"))
        try await store.stage(
            [],
            ofRefundsOf: RefundedCustomer(
                customer: .unnamed("11"), transactionID: "11", hasSubscription: false), in: sweep,
            pass: killed.pass, run: killed.run)
        #expect(try await store.customersToRead(in: sweep).due == 1)
        try database.execute("UPDATE trueup_passes SET state = 'dropped'")
        #expect(try await store.customersToRead(in: sweep).due == 2)
    }

    @Test func `are counted once by what the checkpoint found last, and add up`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        func outcome(_ id: String, _ verdict: JudgedPurchase.Verdict) -> RowOutcome {
            var outcome = RowOutcome(key: key(id), verdict: nil)
            outcome.purchase = JudgedPurchase(key: purchase(id), verdict: verdict)
            return outcome
        }
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(outcome("11", .discrepancy))
        try await night.stage(outcome("11", .match))
        // Apple's, and not stored.
        try await night.stage(outcome("99", .discrepancy))
        var conclusion = RunConclusion(
            ended: night.run.started, statuses: [.ok], messages: [], limits: [], calls: [],
            closesPass: true)
        conclusion.coverage = RunCoverage(kind: .full)
        try await store.conclude(conclusion, in: night.pass, run: night.run)
        let counts = try #require(try store.overview(runs: 1).runs.first?.purchases)
        #expect(
            counts
                == PurchaseTotals(
                    stored: Int(try #require(try database.value("SELECT count(*) FROM purchases")))
                        ?? 0, matched: 1, missing: 1))
        // What the checkpoint noted of each is thrown away with the rest of it.
        let next = try await Night.begin(store, Night.header("run-2", at: Night.start + 1))
        try await next.conclude()
        #expect(try database.value("SELECT count(*) FROM trueup_pass_purchases") == "0")
    }
}
