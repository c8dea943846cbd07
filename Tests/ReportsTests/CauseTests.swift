import Reports
import Subscriptions
import Testing

@Suite struct `The causes in a summary` {
    private static func cluster(
        _ cause: String, _ delivery: Delivery? = nil, findings: Int = 1,
        _ change: (inout CauseCluster) -> Void = { _ in }
    ) -> CauseCluster {
        var cluster = CauseCluster(
            bundleID: Samples.app.bundleID, environment: "Production", cause: cause,
            delivery: delivery)
        cluster.findings = findings
        change(&cluster)
        return cluster
    }

    static let refused = cluster(
        "refused by us (UNSUCCESSFUL_HTTP_RESPONSE_CODE)", .refused, findings: 94
    ) {
        $0.result = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        $0.rows = 30
        $0.corrections = 30
        $0.notifications = 34
        $0.stillRetried = 5
        $0.kinds = ["notification_missed": 34, "access_missing": 30, "expiry": 30]
        $0.notificationTypes = ["DID_RENEW": 30, "REFUND": 4]
        $0.bursts = [
            CauseBurst(
                start: Samples.time("2026-11-19T02:14:00Z"),
                end: Samples.time("2026-11-19T02:19:00Z"), notifications: 34)
        ]
        $0.firstAttempt = Samples.time("2026-11-19T02:14:00.400Z")
        $0.lastAttempt = Samples.time("2026-11-19T02:19:59Z")
        $0.money = [
            MoneyTotal(currency: "USD", direction: .companyLoses, amount: 4_990, findings: 1),
            MoneyTotal(currency: "EUR", direction: .customerLoses, amount: 299_700, findings: 30),
            MoneyTotal(currency: "EUR", direction: .neutral, amount: 10, findings: 1),
        ]
        $0.productID = "pro.monthly"
        $0.example = "2000000000000001"
        $0.earlierDays = 3
    }

    private func text(
        _ causes: [CauseCluster], _ mode: RunMode = .apply, carried: Int = 0
    ) -> String {
        var summary = Samples.summary()
        summary.header.mode = mode
        summary.conclusion.causes = causes
        summary.findings = [
            FindingCount(
                kind: .expiry, severity: .high, state: .open,
                findings: causes.reduce(carried) { $0 + $1.findings })
        ]
        return SummaryText.render(summary, reportPath: nil)
    }

    private func block(_ causes: [CauseCluster], _ mode: RunMode = .apply) -> String {
        let blocks = text(causes, mode).split(separator: "\n\n", omittingEmptySubsequences: true)
        return blocks.first { $0.hasPrefix("CAUSES") }.map(String.init) ?? ""
    }

    @Test func `come before the lines, and say what the findings have in common`() {
        let text = text([
            Self.refused,
            Self.cluster("transaction unknown to Apple", findings: 3) {
                $0.rows = 3
                $0.kinds = ["not_found": 3]
                $0.example = "2000000000000004"
            },
        ])
        #expect(
            text.contains(
                """
                App      com.example.app (Production)
                Also     findings (2): findings at or above fail_on remain

                CAUSES of 97 findings
                  94  refused by us (UNSUCCESSFUL_HTTP_RESPONSE_CODE)
                      30 rows such as 2000000000000001; all corrected; access_missing 30, expiry 30; nearly all
                      pro.monthly; also on 3 of the 7 days before
                      34 notifications (DID_RENEW 30, REFUND 4), all in 02:14–02:19 UTC on 2026-11-19; Apple still
                      retries 5
                      list prices of periods concerned, to the harm of customers: 299.70 EUR
                      list prices of periods concerned, to the harm of the company: 4.99 USD
                   3  transaction unknown to Apple: 3 rows such as 2000000000000004; not_found

                TIE-OUT
                """), "\(text)")
        #expect(
            text.contains(
                "  - refused by us (UNSUCCESSFUL_HTTP_RESPONSE_CODE): also on 3 of the 7 days before."
            ))
    }

    @Test func `are left out where nothing was examined`() {
        #expect(!text([]).contains("CAUSES"))
    }

    /// Each of the 30 subscriptions lacks a period, too.
    @Test func `never tell more corrected rows than there are`() {
        let cause = Self.cluster("renewal not recorded") {
            $0.rows = 30
            $0.corrections = 60
            $0.kinds = ["expiry": 30, "transaction_missing": 30]
        }
        #expect(block([cause]).contains("60 corrections written"), "\(block([cause]))")
        #expect(block([cause], .check).contains("60 corrections planned"))
        #expect(!block([cause]).contains("60 corrected"))
    }

    /// One row has two corrections, the other none.
    @Test func `never call all rows corrected where one has no correction`() {
        let cause = Self.cluster("renewal not recorded", findings: 3) {
            $0.rows = 2
            $0.corrections = 2
            $0.correctedRows = 1
            $0.kinds = ["expiry": 2, "transaction_missing": 1]
        }
        #expect(block([cause]).contains("2 corrections written"), "\(block([cause]))")
        #expect(!block([cause]).contains("all corrected"))
        #expect(block([cause], .check).contains("2 corrections planned"))
    }

    @Test func `say of a check what would be corrected`() {
        #expect(block([Self.refused], .check).contains("all to correct"))
    }

    @Test func `tell one notification by its minute and several by their bursts`() {
        let single = Self.cluster("lost by us", .lostAfterSuccess) {
            $0.notifications = 1
            $0.notificationTypes = ["REFUND": 1]
            $0.firstAttempt = Samples.time("2026-11-19T23:59:59Z")
            $0.example = "7"
        }
        #expect(
            block([single]) == """
                CAUSES of 1 finding
                  1  lost by us: 1 notification (REFUND) at 23:59 UTC on 2026-11-19; such as for 7
                """)
        let several = Self.cluster("did not reach us (TIMED_OUT)", .unreached, findings: 9) {
            $0.notifications = 9
            $0.notificationTypes = ["REFUND": 9]
            $0.bursts = [
                CauseBurst(
                    start: Samples.time("2026-11-18T23:59:00Z"),
                    end: Samples.time("2026-11-19T00:02:00Z"), notifications: 5),
                CauseBurst(
                    start: Samples.time("2026-11-19T04:00:00Z"),
                    end: Samples.time("2026-11-19T04:00:00Z"), notifications: 2),
            ]
        }
        #expect(
            block([several]).contains(
                """
                9 notifications (REFUND), 5 from 2026-11-18 23:59 to 2026-11-19 00:02 UTC, 2 at 04:00
                """), "\(block([several]))")
        #expect(block([several]).contains("2 scattered"))
    }

    @Test func `beyond a dozen are counted`() {
        let many = (0..<15).map { Self.cluster("cause \($0)", findings: 2) }
        #expect(block(many).hasSuffix("  … and 3 more causes with 6 findings, all in summary.json"))
    }

    @Test func `leave out findings of earlier runs, and count them below`() throws {
        let several = text([Self.refused], carried: 7)
        #expect(
            several.contains(
                "\n  7 more findings come from earlier runs; this run did not check them again.\n"),
            "\(several)")
        #expect(text([Self.refused], carried: 1).contains("\n  1 more finding comes from an"))
        #expect(!text([Self.refused]).contains("from earlier runs"))
        var run = try Samples.run()
        run.runSummary.conclusion.causes = [Self.refused]
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        let more = "1,118 more findings come from earlier runs"
        #expect(try folder.text("latest/report.html").contains(more))
    }

    @Test func `name the app where there are several`() {
        var summary = Samples.summary()
        summary.header.apps.append(
            AppIdentity(bundleID: "com.example.app", environment: .sandbox))
        summary.conclusion.causes = [Self.refused]
        #expect(
            SummaryText.render(summary, reportPath: nil)
                .contains("(UNSUCCESSFUL_HTTP_RESPONSE_CODE) [com.example.app Production]"))
    }

    @Test func `cannot steer a terminal`() {
        let hostile = Self.cluster("cause \u{1B}[31m", findings: 1) {
            $0.rows = 1
            $0.example = "1\u{1B}]0;x\u{7}\n2"
            $0.productID = "\u{202E}pro"
            $0.kinds = ["expiry": 1]
        }
        let shown = block([hostile])
        #expect(!shown.unicodeScalars.contains { ["\u{1B}", "\u{7}", "\u{202E}"].contains($0) })
    }

    @Test func `stand in full in summary.json`() throws {
        var run = try Samples.run()
        run.runSummary.conclusion.causes = [Self.refused]
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        let text = try folder.text("latest/summary.json")
        #expect(
            text.contains(
                """
                  "causes": [
                    {
                      "app": "com.example.app",
                      "bursts": [
                        {
                          "end": "2026-11-19T02:19:00.000Z",
                          "notifications": 34,
                          "start": "2026-11-19T02:14:00.000Z"
                        }
                      ],
                      "cause": "refused by us (UNSUCCESSFUL_HTTP_RESPONSE_CODE)",
                      "corrections": 30,
                      "delivery": "refused",
                      "earlier_days": 3,
                      "environment": "Production",
                      "example": "2000000000000001",
                      "findings": 94,
                      "first_attempt": "2026-11-19T02:14:00.400Z",
                      "kinds": {
                        "access_missing": 30,
                        "expiry": 30,
                        "notification_missed": 34
                      },
                      "last_attempt": "2026-11-19T02:19:59.000Z",
                """), "\(text)")
        #expect(text.contains("\"result\": \"UNSUCCESSFUL_HTTP_RESPONSE_CODE\""))
    }
}
