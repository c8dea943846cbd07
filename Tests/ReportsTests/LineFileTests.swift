import Foundation
import Reports
import Subscriptions
import Testing

@Suite struct `The files of lines` {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.report()
    }

    @Test func `corrections are the ledger's canonical entries`() throws {
        let ledger = try Samples.ledger()
        #expect(
            try folder.text("latest/corrections.jsonl")
                == ledger.map { $0.canonical.rendered + "\n" }.joined())
    }

    @Test func `the CSV of corrections has a line per changed field`() throws {
        let ledger = try Samples.ledger()
        let head = "com.example.app,Production"
        #expect(
            try folder.text("latest/corrections.csv")
                == """
                ledger_entry,ledger_previous,ledger_hash,run_id,kinds,table,app,environment,\
                original_transaction_id,transaction_id,field,before,after,evidence,\
                evidence_renewal,apple_signed_date,written_at,actor,reason,undo_of,\
                action,host,plan,row_version,access_continues_by,fate,derivation
                1,\(ledger[0].previousHash),\(ledger[0].hash),20261120T031704Z-7f3c9a,\
                access_missing expiry,subscriptions,\(head),2000000000000001,,expires_date,\
                2026-11-18T00:00:00.000Z,2026-12-18T00:00:00.000Z,\(Samples.digest),\
                \(Samples.renewalDigest),2026-11-20T03:17:05.123Z,2026-11-20T03:17:04.000Z,job@host,\
                Apple says it is active.,,,,,,,applied,
                1,\(ledger[0].previousHash),\(ledger[0].hash),20261120T031704Z-7f3c9a,\
                access_missing expiry,subscriptions,\(head),2000000000000001,,status,2,1,\
                \(Samples.digest),\(Samples.renewalDigest),2026-11-20T03:17:05.123Z,\
                2026-11-20T03:17:04.000Z,job@host,Apple says it is active.,,,,,,,applied,\
                status 1: what Apple signed is not held
                2,\(ledger[0].hash),\(ledger[1].hash),20261120T031704Z-7f3c9a,missing_locally,\
                subscriptions,\(head),2000000000000002,,status,,1,\(Samples.digest),,\
                2026-11-20T03:17:04.000Z,2026-11-20T03:17:04.000Z,job@host,We did not hold it.,,,,,,,applied,\
                status 1: what Apple signed is not held

                """.replacingLineFeeds)
    }

    @Test func `the CSV of a check continues with what it would change, marked as planned`() throws
    {
        let place = try TemporaryFolder()
        var run = try Samples.run()
        run.corrections = []
        run.planned = run.planned.map { ($0.0, .planned) }
        var context = Samples.context
        context.isPlanOnly = true
        _ = try place.report(run, context: context)
        let text = try place.text("latest/summary.txt")
        let lines = try place.text("latest/corrections.csv")
            .split(separator: "\r\n").map(String.init)
        let fields = run.planned.reduce(0) { $0 + $1.0.changes.named.count }
        #expect(lines.count == 1 + fields)
        #expect(lines.dropFirst().allSatisfy { $0.hasPrefix(",,,") && $0.hasSuffix(",planned,") })
        #expect(try place.text("latest/corrections.jsonl").isEmpty)
        #expect(text.contains("\nPLAN\n  2 subscriptions; rows of"), "\(text)")
        #expect(text.contains("\n  ~ 2000000000000001 "), "\(text)")
        #expect(text.contains("\n  + "), "\(text)")
        #expect(!text.contains("more: `trueup show plan"))
    }

    @Test func `the summary of a check names twenty changes and counts the others`() throws {
        let place = try TemporaryFolder()
        var run = try Samples.run()
        let one = try #require(run.planned.first?.0)
        run.corrections = []
        run.planned = Array(repeating: (one, .planned), count: 23)
        var context = Samples.context
        context.isPlanOnly = true
        _ = try place.report(run, context: context)
        let text = try place.text("latest/summary.txt")
        #expect(text.components(separatedBy: "\n  ~ ").count == 21)
        #expect(text.contains("\n  3 more: `trueup show plan \(run.runSummary.header.runID)`"))
    }

    @Test func `undecided rows carry their reason`() throws {
        #expect(
            try folder.text("latest/undecided.csv")
                == """
                run_id,app,environment,original_transaction_id,customer_id,reason
                20261120T031704Z-7f3c9a,com.example.app,Production,2000000000000003,,rate_limited

                """.replacingLineFeeds)
    }

    @Test func `ids that Apple does not find say since when and how often`() throws {
        #expect(
            try folder.text("latest/not_found.csv")
                == """
                run_id,app,environment,original_transaction_id,customer_id,status,state,first_day,\
                last_day,distinct_days,last_good_as_of,last_good_evidence
                20261120T031704Z-7f3c9a,com.example.app,Production,2000000000000004,customer-4,1,\
                confirmed,2026-11-18,2026-11-20,3,2026-10-01T00:00:00.000Z,\(Samples.digest)

                """.replacingLineFeeds)
    }

    @Test func `notifications stand against the inbox`() throws {
        #expect(
            try folder.text("latest/notifications.csv")
                == """
                run_id,app,environment,notification_uuid,notification_type,subtype,signed_date,\
                original_transaction_id,attempts,last_attempt_result,verdict,evidence
                20261120T031704Z-7f3c9a,com.example.app,Production,\
                0d3cd8c4-0000-4000-8000-000000000001,DID_RENEW,,2026-11-20T03:17:04.000Z,\
                2000000000000001,6,TIMED_OUT,missed,\(Samples.digest)

                """.replacingLineFeeds)
    }

    @Test func `changes of entitlements say when access ended before`() throws {
        #expect(
            try folder.text("latest/entitlements.csv")
                == """
                run_id,app,environment,customer_id,entitlement,change,expires_date_before,expires_date,\
                grace_period_expires_date,will_renew,product_id,original_transaction_id,ownership,as_of
                20261120T031704Z-7f3c9a,com.example.app,Production,'=customer-1,pro,shorter,,\
                2026-11-20T03:17:04.000Z,,0,gold.monthly,2000000000000001,PURCHASED,\
                2026-11-20T03:17:04.000Z
                20261120T031704Z-7f3c9a,com.example.app,Production,customer-2,pro,new,,,,,gold.life,\
                2000000000000002,,

                """.replacingLineFeeds)
    }

    @Test func `purchases without a known owner name the customers that evidence suggests`()
        throws
    {
        #expect(
            try folder.text("latest/unowned.csv")
                == """
                run_id,app,environment,original_transaction_id,transaction_id,product_id,reason,\
                customer_id,app_account_token,apple_account_token,speaks_for,because,evidence
                20261120T031704Z-7f3c9a,com.example.app,Production,2000000000000001,,gold.monthly,\
                token_changed,'=customer-1,token-1,token-2,customer-2,same_token,\(Samples.digest)
                20261120T031704Z-7f3c9a,com.example.app,Production,2000000000000090,2000000000000091,,\
                no_token,,,,,,

                """.replacingLineFeeds)
    }

    @Test func `evidence is the payload as received with its digest`() throws {
        #expect(
            try folder.text("latest/evidence.jsonl")
                == "{\"jws\":\"a.b.c\",\"sha256\":\"\(try sha256("a.b.c"))\"}\n")
    }
}

extension String {
    /// The same text with the line ends of RFC 4180.
    fileprivate var replacingLineFeeds: String {
        split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
    }
}
