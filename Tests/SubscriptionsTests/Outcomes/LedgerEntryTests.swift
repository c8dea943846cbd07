import Subscriptions
import Testing

@Suite struct `A ledger entry` {
    private let key = SubscriptionKey(
        bundleID: "com.example.app", environment: "Production", originalTransactionID: "1")

    private static let changes = ChangeSet.subscription([
        .status: FieldChange(before: .integer(2), after: .integer(1)),
        .expiresDate: FieldChange(before: .null, after: .time(Timestamp(unixMilliseconds: 0))),
    ])

    private static let periodChanges = ChangeSet.period([
        .price: FieldChange(before: .null, after: .integer(990))
    ])

    private func entry(
        _ target: PlannedCorrection.Target, _ changes: ChangeSet = Self.changes
    ) -> LedgerEntry {
        let correction = PlannedCorrection(
            target: target, changes: changes,
            kinds: [.accessMissing, .expiry], evidence: EvidenceDigest(hexadecimal: "aa"),
            evidenceRenewal: EvidenceDigest(hexadecimal: "bb"),
            appleSignedDate: Timestamp(unixMilliseconds: 1_000), reason: "Because.")
        return LedgerEntry(
            number: 1, previousHash: LedgerEntry.firstPreviousHash, runID: "run",
            correction: correction, writtenAt: Timestamp(unixMilliseconds: 2_000),
            actor: "job@host")
    }

    @Test func `hashes every member but its own hash, in one spelling`() {
        let zeros = String(repeating: "0", count: 64)
        let expected = """
            {"actor":"job@host",\
            "after":{"expires_date":"1970-01-01T00:00:00.000Z","status":1},\
            "app":"com.example.app","apple_signed_date":"1970-01-01T00:00:01.000Z",\
            "before":{"expires_date":null,"status":2},"environment":"Production",\
            "evidence":"aa","evidence_renewal":"bb","kinds":["access_missing","expiry"],\
            "ledger_entry":1,"ledger_previous":"\(zeros)","original_transaction_id":"1",\
            "reason":"Because.","run_id":"run","table":"subscriptions","transaction_id":null,\
            "undo_of":null,"written_at":"1970-01-01T00:00:02.000Z"}
            """
        #expect(
            entry(.update(key, expectedRowVersion: 3)).canonicalWithoutHash.rendered == expected)
    }

    @Test func `carries its hash in the file`() {
        var entry = entry(.insert(key))
        let before = entry.canonicalWithoutHash
        entry.hash = "cc"
        #expect(entry.canonicalWithoutHash == before)
        #expect(entry.canonical.rendered.contains(#""ledger_hash":"cc""#))
    }

    @Test func `names the period that it inserted`() {
        let period = TransactionKey(
            bundleID: "com.example.app", environment: "Production", transactionID: "9")
        let entry = entry(.insertPeriod(period, of: key), Self.periodChanges)
        #expect(entry.table == "transactions")
        #expect(entry.transactionID == "9")
        #expect(entry.subscription == key)
    }

    @Test func `states host, action, plan and row version only where it has them`() {
        var entry = entry(.update(key, expectedRowVersion: 3))
        let bare = entry.canonicalWithoutHash.rendered
        for name in ["host", "action", "plan", "row_version"] {
            #expect(!bare.contains("\"\(name)\""))
        }
        entry.host = "host"
        entry.action = .update
        entry.plan = "dd"
        entry.rowVersion = 4
        let full = entry.canonicalWithoutHash.rendered
        #expect(full.hasPrefix(#"{"action":"update","actor""#))
        #expect(full.contains(#""host":"host","kinds""#))
        #expect(full.contains(#""plan":"dd","reason""#))
        #expect(full.contains(#""row_version":4,"run_id""#))
    }

    @Test func `says what was done to the row even where the entry does not`() {
        #expect(entry(.update(key, expectedRowVersion: 1)).rowAction == .update)
        let period = TransactionKey(
            bundleID: "com.example.app", environment: "Production", transactionID: "9")
        #expect(entry(.insertPeriod(period, of: key), Self.periodChanges).rowAction == .insert)
        var deleted = entry(.delete(key, expectedRowVersion: 1))
        deleted.action = .delete
        #expect(deleted.rowAction == .delete)
    }

    @Test func `has the same bytes written member by member as from its canonical object`() {
        let period = TransactionKey(
            bundleID: "com.example.app", environment: "Production", transactionID: "9")
        var full = entry(.update(key, expectedRowVersion: 3))
        full.hash = "cc"
        full.host = "host \"x\"\u{2028}"
        full.action = .update
        full.plan = "dd"
        full.rowVersion = 4
        full.undoOf = 17
        full.accessContinuesBy = "2"
        full.evidenceRenewal = nil
        let declared = entry(
            .insert(key),
            .ledger([
                .entry: FieldChange(before: .integer(9), after: .integer(1)),
                .head: FieldChange(before: .text("bb"), after: .text("aa")),
            ]))
        for entry in [
            entry(.insert(key)), entry(.insertPeriod(period, of: key), Self.periodChanges), full,
            declared,
        ] {
            #expect(
                String(decoding: entry.canonicalBytes, as: UTF8.self) == entry.canonical.rendered)
            #expect(
                String(decoding: entry.sealedBytes, as: UTF8.self)
                    == entry.canonicalWithoutHash.rendered)
        }
    }

    @Test func `names what it takes back`() {
        var entry = entry(.insert(key))
        entry.undoOf = 17
        #expect(entry.canonicalWithoutHash.rendered.contains(#""undo_of":17"#))
    }
}
