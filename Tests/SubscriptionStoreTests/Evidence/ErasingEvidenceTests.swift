import Crypto
import Foundation
import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Erasing evidence` {
    private let day: Int64 = 86_400_000

    /// Two customers, each with a corrected row.
    private func night(
        _ store: SQLiteStore, _ run: String, ids: [String], at milliseconds: Int64 = Night.start
    ) async throws -> SQLiteRunRecord {
        try store.load(ids.map { subscription($0, customer: "customer \($0)") })
        let night = try await Night.begin(store, Night.header(run, at: milliseconds))
        for id in ids { try await night.stage(drift(id)) }
        try await night.apply()
        return try await night.conclude()
    }

    @Test func `one customer's payloads go, the others' and the ledger stay`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let record = try await night(store, "run-1", ids: ["1", "2"])
        let before = try record.entries()
        let found = try await store.evidence(ofCustomer: "customer 1")
        #expect(found.subscriptions == [key("1")])
        #expect(found.kept == 2)
        #expect(found.erased == 0)
        #expect(found.reportedBy == ["run-1"])

        let now = Timestamp(unixMilliseconds: Night.start + day)
        #expect(try await store.eraseEvidence(ofCustomer: "customer 1", at: now) == 2)
        #expect(try await store.eraseEvidence(ofCustomer: "customer 1", at: now) == 0)
        let after = try await store.evidence(ofCustomer: "customer 1")
        #expect(after.kept == 0)
        #expect(after.erased == 2)
        #expect(
            Set(try record.evidence().map(\.jws))
                == Set(["transaction2-2", "renewal2-2"].map { payload($0).jws }))
        #expect(try record.entries() == before)
        #expect(try database.value("SELECT count(*) FROM trueup_evidence") == "4")
    }

    @Test func `payloads go that only deleted lists of earlier runs named`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let ids = ["1", "12"]
        try store.load(ids.map { subscription($0, customer: "customer \($0)") })
        let first = try await Night.begin(store, Night.header("run-1"))
        for id in ids {
            let inner = payload("{\"originalTransactionId\":\"\(id)\"}")
            var found = drift(id)
            found.evidence = [inner, payload("{\"signedTransactionInfo\":\"\(inner.jws)\"}")]
            found.findings[0].evidence = inner.digest
            found.corrections = []
            try await first.stage(found)
        }
        try await first.conclude()
        let now = Timestamp(unixMilliseconds: Night.start + 500 * day)
        let second = try await Night.begin(
            store, Night.header("run-2", at: now.unixMilliseconds))
        for id in ids {
            var match = outcome(id, .match)
            match.examined = .statement
            try await second.stage(match)
        }
        try await second.conclude()
        #expect(try await store.evidence(ofCustomer: "customer 1").unlistedRuns == [])
        _ = try await store.expireBookkeeping(before: now.adding(milliseconds: -day), at: now)
        #expect(try database.value("SELECT count(*) FROM trueup_pass_findings") == "0")

        let found = try await store.evidence(ofCustomer: "customer 1")
        #expect(found.kept == 2)
        #expect(found.unlistedRuns == ["run-1"])
        #expect(try await store.eraseEvidence(ofCustomer: "customer 1", at: now) == 2)
        #expect(try await store.evidence(ofCustomer: "customer 1").kept == 0)
        #expect(try await store.evidence(ofCustomer: "customer 12").kept == 2)
    }

    @Test func `one-time purchases are counted apart from subscriptions`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1", customer: "customer 1")])
        try database.execute(
            """
            INSERT INTO purchases (
                transaction_id, original_transaction_id, environment, bundle_id, customer_id)
            VALUES ('7', '7', 'Production', 'com.example.app', 'customer 1')
            """)
        let found = try await store.evidence(ofCustomer: "customer 1")
        #expect(found.subscriptions.count == 2)
        #expect(found.purchases == 1)
    }

    @Test func `a run that rests on an erased payload shows its tombstone`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let record = try await night(store, "run-1", ids: ["1"])
        let now = Timestamp(unixMilliseconds: Night.start + day)
        _ = try await store.eraseEvidence(ofCustomer: "customer 1", at: now)
        #expect(try record.evidence().isEmpty)
        let tombstones = try record.tombstones()
        #expect(tombstones.count == 2)
        #expect(tombstones.allSatisfy { $0.erasedAt == now && $0.reason == "customer" })
    }

    @Test func `a correction comes with the payloads of its status, or what is left of them`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let record = try await night(store, "run-1", ids: ["1", "2"])
        let now = Timestamp(unixMilliseconds: Night.start + day)
        _ = try await store.eraseEvidence(ofCustomer: "customer 1", at: now)
        var found: [ReportedCorrection] = []
        _ = try record.forEachEvidencedCorrection(where: { _ in true }, { found.append($0) })
        #expect(found.map(\.entry) == (try record.entries()))
        guard found.count == 2, case .erased(let tombstone) = found[0].transaction,
            case .erased = found[0].renewal
        else {
            Issue.record("\(found)")
            return
        }
        #expect(tombstone.erasedAt == now)
        #expect(found[1].transaction == .payload(payload("transaction2-2")))
        #expect(found[1].renewal == .payload(payload("renewal2-2")))
    }

    @Test func `it says so when a reader keeps the old pages on the disk`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        _ = try await night(store, "run-1", ids: ["1"])
        let now = Timestamp(unixMilliseconds: Night.start)
        let reader = try database.open(.readOnly)
        var isErased = false
        try reader.forEachLedgerRow { _ in
            guard !isErased else { return }
            isErased = true
            let done = DispatchSemaphore(value: 0)
            Task {
                await #expect(throws: StoreError.self) {
                    try await store.eraseEvidence(ofCustomer: "customer 1", at: now)
                }
                done.signal()
            }
            done.wait()
        }
        // Nothing is left to erase but the pages.
        #expect(try await store.eraseEvidence(ofCustomer: "customer 1", at: now) == 0)
        for (name, bytes) in try database.files() {
            #expect(bytes.range(of: Data("transaction1-2".utf8)) == nil, "\(name)")
        }
    }

    @Test func `an erased payload does not come back, neither alone nor inside another`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let first = payload("transaction1-2")
        let carrier = payload("{\"signedTransactionInfo\":\"\(first.jws)\"}")
        _ = try await night(store, "run-1", ids: ["1"])
        let now = Timestamp(unixMilliseconds: Night.start)
        _ = try await store.eraseEvidence(ofCustomer: "customer 1", at: now)
        var outcome = drift("1")
        outcome.evidence = [first, carrier]
        outcome.findings = []
        outcome.corrections = []
        let again = try await Night.begin(store, Night.header("run-2", at: Night.start + day))
        try await again.stage(outcome)
        _ = try await again.conclude()
        let kept = try database.value(
            "SELECT count(*) FROM trueup_evidence WHERE erased_at IS NULL")
        #expect(kept == "0")
        #expect(
            try database.value("SELECT count(*) FROM trueup_evidence WHERE erased_at IS NOT NULL")
                == "3")
    }

    @Test func `the chain of hashes holds over tombstones`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let record = try await night(store, "run-1", ids: ["1", "2", "3"])
        _ = try await store.eraseEvidence(
            ofCustomer: "customer 2", at: Timestamp(unixMilliseconds: Night.start))
        var previous = String(repeating: "0", count: 64)
        for entry in try record.entries() {
            #expect(entry.previousHash == previous)
            let text = previous + entry.canonicalWithoutHash.rendered
            #expect(payloadDigest(of: text).hexadecimal == entry.hash)
            previous = entry.hash
        }
        #expect(try record.summary().ledgerHead == previous)
    }

    @Test func `nothing of an erased payload is left in any file`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        _ = try await night(store, "run-1", ids: ["1", "2"])
        _ = try await store.eraseEvidence(
            ofCustomer: "customer 1", at: Timestamp(unixMilliseconds: Night.start))
        for (name, bytes) in try database.files() {
            #expect(bytes.range(of: Data("transaction1-2".utf8)) == nil, "\(name)")
        }
        #expect(
            try database.files().values.contains {
                $0.range(of: Data("transaction2-2".utf8)) != nil
            })
    }

    @Test func `retention erases what old runs stored, app by app`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let old = try await night(store, "run-1", ids: ["1"])
        let young = try await night(store, "run-2", ids: ["2"], at: Night.start + 10 * day)
        let now = Timestamp(unixMilliseconds: Night.start + 11 * day)
        let limit = now.adding(milliseconds: -5 * day)
        let other = AppIdentity(bundleID: "com.example.other", environment: .production)
        #expect(try await store.expireEvidence(of: other, storedBefore: limit, at: now) == 0)
        #expect(try await store.expireEvidence(of: app, storedBefore: limit, at: now) == 2)
        #expect(try await store.expireEvidence(of: app, storedBefore: limit, at: now) == 0)
        #expect(try old.evidence().isEmpty)
        #expect(try young.evidence().count == 2)
    }

    @Test func `a statement takes at most 1.2 KB on disk`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let ids = (0..<500).map { "2000000\($0 + 100_000)" }
        try store.load(ids.map { subscription($0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        for id in ids { try await night.stage(realistic(id)) }
        let cost = try await night.conclude().summary().evidence
        #expect(cost.statements == 1000)
        #expect(cost.receivedBytes / 1000 > 5000)
        let pages = try #require(
            try database.value(
                """
                SELECT sum(pgsize) FROM dbstat WHERE name IN (
                    'trueup_evidence', 'sqlite_autoindex_trueup_evidence_1',
                    'trueup_evidence_headers', 'sqlite_autoindex_trueup_evidence_headers_1')
                """))
        let bytesOnDisk = try #require(Int64(pages)) / 1000
        #expect(bytesOnDisk <= 1200)
        // What the summary states is what the pages hold, but for their free space.
        #expect(cost.storedBytes / 1000 <= bytesOnDisk)
        #expect(cost.storedBytes / 1000 > bytesOnDisk / 2)
    }

    /// A drift whose two payloads are as long as Apple's: 683 and 466 bytes behind a header of 4,459.
    private func realistic(_ id: String) -> RowOutcome {
        var result = drift(id)
        let payloads = [683, 466].map { length in
            let header = String(repeating: "eyJ4NWMiOls", count: 405) + "abcd"
            let body = Data((id + String(repeating: "x", count: length)).utf8.prefix(length))
            let hash = Data(SHA512.hash(data: body))
            let jws = [header, text(body), text(hash)].joined(separator: ".")
            return SignedPayload(digest: payloadDigest(of: jws), jws: jws)
        }
        result.evidence = payloads
        result.findings[0].evidence = payloads[0].digest
        result.corrections = []
        return result
    }

    private func text(_ bytes: Data) -> String {
        bytes.base64EncodedString().filter { $0 != "=" }
            .map { $0 == "+" ? "-" : $0 == "/" ? "_" : String($0) }.joined()
    }
}
