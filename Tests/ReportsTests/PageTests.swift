import Crypto
import Foundation
import Subscriptions
import Testing

@testable import Reports

/// `report.html` as a browser gets it.
@Suite struct `The page of a run` {
    private func page(
        _ run: StoredRun? = nil, context: ReportContext = Samples.context
    ) throws -> String {
        let folder = try TemporaryFolder()
        let path = try folder.report(run, context: context).path
        return String(
            decoding: try Data(contentsOf: URL(fileURLWithPath: path + "/report.html")),
            as: UTF8.self)
    }

    /// The texts of a page's elements, one after the other.
    private func words(_ page: String) -> String {
        page.replacing(/<[^>]*>/, with: " ").replacing(/\s+/, with: " ")
    }

    @Test func `loads nothing and runs nothing`() throws {
        let page = try page()
        for sign in [
            "<script", "<img", "<link", "<iframe", "<object", "<form", "http:", "https:", "url(",
            "@import", "src=", "javascript:", " style=",
        ] {
            #expect(!page.contains(sign), "\(sign)")
        }
        #expect(page.firstMatch(of: /<[^>]* on[a-z]+=/) == nil)
    }

    @Test func `allows its own style and nothing else`() throws {
        let page = try page()
        let style = try #require(page.firstMatch(of: /<style>((?s).*?)<\/style>/)?.1)
        let digest = Data(SHA256.hash(data: Array(style.utf8))).base64EncodedString()
        #expect(
            page.contains(
                "content=\"default-src 'none'; style-src 'sha256-\(digest)'; base-uri 'none'; "
                    + "form-action 'none'\""))
        #expect(page.ranges(of: "<style").count == 1)
        let policy = try #require(page.range(of: "Content-Security-Policy"))
        let inline = try #require(page.range(of: "<style"))
        #expect(policy.lowerBound < inline.lowerBound)
    }

    @Test func `every element that is opened is closed, in order`() throws {
        let page = try page()
        var open: [Substring] = []
        for match in page.matches(of: /<(\/?)([a-z0-9]+)[^>]*>/) {
            let name = match.2
            if ["meta", "br"].contains(name) { continue }
            if match.1.isEmpty {
                open.append(name)
            } else {
                #expect(open.popLast() == name)
            }
        }
        #expect(open.isEmpty)
    }

    @Test func `can be read without seeing it`() throws {
        let page = try page()
        #expect(page.contains("<html lang=\"en\">"))
        for part in ["<header>", "<nav ", "<main>", "<footer>"] {
            #expect(page.ranges(of: part).count == 1, "\(part)")
        }
        let levels = page.matches(of: /<h([1-6])/).compactMap { Int($0.1) }
        #expect(levels.first == 1)
        #expect(levels.count { $0 == 1 } == 1)
        for (before, level) in zip(levels, levels.dropFirst()) { #expect(level <= before + 1) }
        #expect(page.ranges(of: "<table").count == page.ranges(of: "<caption>").count)
        #expect(page.firstMatch(of: /<th(?! scope=)[ >]/) == nil)
        for drawing in page.matches(of: /(?s)<svg([^>]*)>(.*?)<\/svg>/) {
            #expect(drawing.1.contains("role=\"img\""))
            #expect(drawing.2.contains("<title"))
            #expect(drawing.2.contains("<desc"))
        }
        let ids = page.matches(of: #/ id="([^"]*)"/#).map { String($0.1) }
        #expect(ids.filter { !$0.contains(/^[td][0-9]/) } == PageSection.allCases.map(\.rawValue))
        #expect(Set(ids).count == ids.count)
        for link in page.matches(of: /href="#([^"]*)"/) { #expect(ids.contains(String(link.1))) }
    }

    @Test func `says what the summary says`() throws {
        let run = try Samples.run()
        let words = words(try page(run))
        let summary = run.runSummary
        #expect(words.contains(Headline(summary).text))
        let sections = [
            Section.tieOut(summary.totals), Section.undecided(summary),
            Section.findings(summary), Section.corrections(summary),
            Section.money(summary.money), Section.calls(summary),
            Section.limits(summary), Section.messages(summary),
            Section.next(summary),
        ]
        for section in sections {
            for row in section.rows {
                let cells = row.cells.filter { !$0.isEmpty }.joined(separator: " ")
                #expect(words.contains(cells), "\(section.title): \(cells)")
            }
            for sentence in section.sentences { #expect(words.contains(sentence)) }
        }
        #expect(words.contains("1,987 of 2,000 rows checked: 1,950 agree with Apple, 37 differ."))
        #expect(words.contains("1,212 findings: 1,200 corrected, 12 open, of these 8 new."))
        #expect(words.contains("Each finding “price” counts in addition, with the difference of"))
    }

    @Test func `says of an apply of a plan, and of an undo, that they checked no row`() throws {
        var undo = try Samples.run()
        undo.runSummary.undoOf = "the-run"
        var apply = try Samples.run()
        apply.runSummary.plan = try Samples.seal(of: apply)
        for run in [undo, apply] {
            let words = words(try page(run))
            #expect(
                words.contains(
                    "The run checked no row itself; the rows below are those of the plan, as they were "
                        + "checked before it."))
            #expect(!words.contains("1,987 of 2,000 rows checked"))
        }
        undo.runSummary.totals = RunTotals()
        #expect(words(try page(undo)).contains("The run checked no row itself."))
    }

    @Test func `shows corrections, examples, accounts and rows as the record has them`() throws {
        let run = try Samples.run()
        let words = words(try page(run))
        #expect(words.contains("2000000000000001, customer customer-1"))
        #expect(words.contains("status 2 1"))
        #expect(words.contains("status 2 → 1"))
        #expect(words.contains(Samples.digest))
        #expect(words.contains("renewal info " + Samples.renewalDigest))
        #expect(words.contains("2 corrections; corrections.jsonl has them as well."))
        #expect(
            words.contains(
                "2000000000000004 customer-4 1 confirmed 2026-11-18 2026-11-20 3 "
                    + "2026-10-01 00:00:00 UTC"))
        #expect(words.contains("rate_limited 2"))
        #expect(words.contains("2000000000000003"))
        #expect(words.contains("missed 1"))
        #expect(words.contains(run.runSummary.ledgerHead))
        #expect(
            words.contains(
                "Access that Apple grants was withheld from 1 subscription (access_missing 1); "
                    + "first seen on 2026-11-20; 1 corrected."))
    }

    @Test func `the first screen has the numbers of the run`() throws {
        var run = try Samples.run()
        var coverage = RunCoverage(kind: .delta)
        coverage.asked = [.clock: 1_500, .sample: 400]
        coverage.settledByNotification = 12
        coverage.quiet = 410_883
        coverage.left = [.sweep: 7]
        coverage.sample = .init(drawn: 400, differing: 1, notJudged: 0, bound: 4_867, seed: 1)
        coverage.oldestCheck = Samples.time("2026-11-13T00:00:00Z")
        run.runSummary.conclusion.coverage = coverage
        run.runSummary.corrections[.planned] = 1
        let page = try page(run)
        let figures = page.matches(of: /(?s)<dt>(.*?)<\/dt><dd>([0-9,]*)/).map {
            "\($0.1) \($0.2)"
        }
        #expect(
            figures == [
                "asked 1,900", "not asked 410,483", "agree 1,950", "differ 37",
                "corrections written 31", "findings open 12", "not checked 3",
            ])
        let words = words(page)
        #expect(words.contains("12 settled without a call"))
        #expect(words.contains("8 of them new"))
        #expect(words.contains("1 planned, not written"))
        #expect(
            words.contains(
                "Apple was not asked about 410,483 rows of the table, because there was no reason to:"
            ))
        #expect(words.contains("sweep 0 7"))
        for sentence in Section.remainingRisk(run.runSummary).sentences {
            #expect(words.contains(sentence))
        }
        // The age of the oldest word, as a drawing in words.
        #expect(page.contains("<b>age of Apple’s oldest statement, in days</b>: 7 this time"))
    }

    @Test func `rows of no configured app are a number of their own`() throws {
        var run = try Samples.run()
        run.runSummary.totals.excluded[.appNotConfigured] = 1_234
        #expect(
            words(try page(run)).contains("of no configured app 1,234 never checked"))
    }

    @Test func `with nothing to do next, neither a heading nor a link says so`() throws {
        let clean = try page(StoredRun(runSummary: Situations.match))
        #expect(!clean.contains("What to do next"))
        #expect(!clean.contains("#next"))
        #expect(clean.contains("Check it by hand"))
    }

    @Test func `says for how long customers were without access`() throws {
        var run = try Samples.run()
        let kinds: [(id: String, kind: FindingKind, daysAgo: Int64?)] = [
            ("1", .accessMissing, 30), ("1", .refundReversalMissed, 9), ("2", .graceMissed, 11),
            ("3", .accessMissing, nil), ("4", .revocationMissed, 0),
        ]
        run.findings = kinds.map { id, kind, daysAgo in
            var reported = Samples.finding
            reported.finding.key = Samples.key(id)
            reported.finding.kind = kind
            reported.finding.field = "status"
            reported.finding.localValue = .integer(kind == .revocationMissed ? 1 : 2)
            reported.finding.localAsOf = nil
            reported.finding.changedAt = nil
            if let daysAgo {
                let milliseconds: Int64 = daysAgo * 86_400_000 + 1
                reported.finding.changedAt = Samples.started.adding(milliseconds: -milliseconds)
            }
            return reported
        }
        let words = words(try page(run))
        #expect(
            words.contains(
                "Access that Apple grants was withheld from 3 subscriptions "
                    + "(refund_reversal_missed 1, grace_missed 1, access_missing 2); 41 days in all "
                    + "since it began at Apple or, where that is later, Apple signed what the row "
                    + "rests on, as far as dated (2 of them); first seen on 2026-11-20; 3 "
                    + "corrected."))
        #expect(
            words.contains(
                "Access that Apple has ended was given to 1 subscription (revocation_missed 1); less "
                    + "than a day in all since it began at Apple or, where that is later, Apple "
                    + "signed what the row rests on; first seen on"))
    }

    @Test
    func `counts days of access no further back than the row was right, and no row that gives it`()
        throws
    {
        func ago(_ days: Int64) -> Timestamp {
            Samples.started.adding(milliseconds: -days * 86_400_000)
        }
        var run = try Samples.run()
        let sides: [(id: String, kind: FindingKind, ours: Int64)] = [
            ("1", .accessMissing, 2), ("2", .graceMissed, 1), ("3", .graceMissed, 3),
            ("4", .revocationMissed, 2), ("5", .accessUnpaid, 1),
        ]
        run.findings = sides.map { id, kind, ours in
            var reported = Samples.finding
            reported.finding.key = Samples.key(id)
            reported.finding.kind = kind
            reported.finding.field = "status"
            reported.finding.localValue = .integer(ours)
            reported.finding.changedAt = ago(217)
            reported.finding.localAsOf = ago(8)
            return reported
        }
        let words = words(try page(run))
        #expect(
            words.contains(
                "withheld from 2 subscriptions (grace_missed 1, access_missing 1); 16 days in all"))
        #expect(
            words.contains("given to 1 subscription (access_unpaid 1); 8 days in all"), "\(words)")
    }

    @Test func `the digits of an amount are its currency's`() throws {
        var run = try Samples.run()
        run.runSummary.money = [
            MoneyTotal(currency: "JPY", direction: .companyLoses, amount: 2_697_000, findings: 2),
            MoneyTotal(currency: "KWD", direction: .customerLoses, amount: 1_234, findings: 1),
        ]
        let words = words(try page(run))
        #expect(words.contains("to the harm of the company 2,697 JPY 2"))
        #expect(words.contains("to the harm of customers 1.234 KWD 1"))
    }

    @Test(arguments: Situations.all)
    func `there is one of every kind of run`(summary: RunSummary) throws {
        let page = try page(StoredRun(runSummary: summary))
        #expect(page.hasSuffix("</html>\n"))
        #expect(words(page).contains(Headline(summary).text))
    }

    @Test func `a guard that stopped the run is named, with what it said`() throws {
        let words = words(try page(StoredRun(runSummary: Situations.guarded)))
        #expect(words.contains("Stopped by a guard"))
        #expect(words.contains("Limits reached guard max_changes"))
        #expect(words.contains("The plan changes 812 rows; max_changes allows 500."))
    }

    @Test func `lifted guards and acknowledgements have their reasons`() throws {
        var run = try Samples.run()
        run.runSummary.liftedGuards = [
            GuardLift(
                name: .maxChanges, reason: "new prices, ticket 4711", actor: "ada@host",
                liftedAt: Samples.started, liftedBy: "the command line", breach: "too many")
        ]
        run.runSummary.acknowledged = [
            AcknowledgedFinding(
                findingID: "f-9", kind: .identity, severity: .critical,
                originalTransactionID: "2000000000000077", decision: 1, actor: "ben@host",
                reason: "a family, as told", decidedAt: Samples.started, until: nil)
        ]
        let words = words(try page(run))
        #expect(words.contains("max_changes ada@host new prices, ticket 4711"))
        #expect(words.contains("max_changes would have said: too many"))
        #expect(words.contains("f-9 identity 2000000000000077 ben@host a family, as told"))
    }
}
