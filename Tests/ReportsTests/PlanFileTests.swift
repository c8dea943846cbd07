import Reports
import Subscriptions
import Testing

@Suite struct `Plan and undo` {
    static let settings = String(repeating: "5e", count: 32)

    @Test func `the plan lists corrections with versions, values, evidence and fate`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.report()
        let text = try folder.text("latest/plan.json")
        let body = """
            {"format":1,"job":"nightly","mode":"apply","plan_only":false,\
            "run_id":"20261120T031704Z-7f3c9a","scope":null,"settings_digest":"\(Self.settings)",\
            "started":"2026-11-20T03:17:04.000Z","tool_version":"1.0.0","corrections":[
            {"action":"update","after":{"expires_date":"2026-12-18T00:00:00.000Z","status":1},\
            "app":"com.example.app","apple_signed_date":"2026-11-20T03:17:05.123Z",\
            "before":{"expires_date":"2026-11-18T00:00:00.000Z","status":2},\
            "environment":"Production","evidence":"\(Samples.digest)",\
            "evidence_renewal":"\(Samples.renewalDigest)","expected_row_version":4,\
            "fate":"applied","kinds":["access_missing","expiry"],\
            "original_transaction_id":"2000000000000001","reason":"Apple says it is active.",\
            "table":"subscriptions","transaction_id":null},
            {"action":"insert","after":{"status":1},"app":"com.example.app",\
            "apple_signed_date":"2026-11-20T03:17:04.000Z","before":{"status":null},\
            "environment":"Production","evidence":"\(Samples.digest)","evidence_renewal":null,\
            "expected_row_version":null,"fate":"stale","kinds":["missing_locally"],\
            "original_transaction_id":"2000000000000002","reason":"We did not hold it.",\
            "table":"subscriptions","transaction_id":null}

            """
        #expect(text == body + "],\"sha256\":\"\(try sha256(body))\"}\n")
    }

    @Test func `undo is the inverse of what was written, an insert being deleted`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.report()
        let ledger = try Samples.ledger()
        let text = try folder.text("latest/undo.json")
        let body = """
            {"format":1,"job":"nightly","order":"last_to_first",\
            "run_id":"20261120T031704Z-7f3c9a","scope":null,"settings_digest":"\(Self.settings)",\
            "tool_version":"1.0.0","inverses":[
            {"action":"update","after":{"expires_date":"2026-11-18T00:00:00.000Z","status":2},\
            "app":"com.example.app",\
            "before":{"expires_date":"2026-12-18T00:00:00.000Z","status":1},\
            "environment":"Production","evidence":"\(Samples.digest)",\
            "evidence_renewal":"\(Samples.renewalDigest)","ledger_hash":"\(ledger[0].hash)",\
            "original_transaction_id":"2000000000000001","table":"subscriptions",\
            "transaction_id":null,"undo_of":1},
            {"action":"delete","after":{"status":null},"app":"com.example.app",\
            "before":{"status":1},"environment":"Production","evidence":"\(Samples.digest)",\
            "evidence_renewal":null,"ledger_hash":"\(ledger[1].hash)",\
            "original_transaction_id":"2000000000000002","table":"subscriptions",\
            "transaction_id":null,"undo_of":2}

            """
        #expect(text == body + "],\"sha256\":\"\(try sha256(body))\"}\n")
    }

    @Test func `a plan without corrections is whole too and states its narrowing`() throws {
        var run = try Samples.run()
        run.planned = []
        run.runSummary.header.filters = ["limit 100"]
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        let text = try folder.text("latest/plan.json")
        #expect(text.contains("\"scope\":[\"limit 100\"]"))
        #expect(text.contains("\"corrections\":[\n],\"sha256\":\""))
    }
}
