import Foundation
import Subscriptions
import Testing

@testable import Reports

/// Nobody's text becomes part of the page's own.
@Suite struct `Texts on the page of a run` {
    static let hostile = "</td><script>alert(\"1\")</script>&lt;' onload=x \u{202E}\u{0}\n\u{200B}é"
    static let shown =
        "&lt;/td&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;lt;' onload=x "
        + #"\u{202e}\u{0}\u{a}\u{200b}é"#

    private func escaped(_ text: String) -> String {
        var markup = Markup()
        markup.element("p", [.init("title", text)], text)
        return String(decoding: markup.bytes, as: UTF8.self)
    }

    @Test func `are written out where they would be read as markup, or not be seen`() {
        #expect(
            escaped(Self.hostile) == "<p title=\"\(Self.shown)\">\(Self.shown)</p>")
        #expect(escaped("plain") == "<p title=\"plain\">plain</p>")
    }

    /// A run with the text wherever somebody else's can stand.
    private func run() throws -> StoredRun {
        let text = Self.hostile
        var run = try Samples.run()
        run.runSummary.header.job = text
        run.runSummary.header.actor = text
        run.runSummary.header.apps = [AppIdentity(bundleID: text, environment: .production)]
        run.runSummary.header.filters = [text]
        run.runSummary.conclusion.messages = [text]
        run.runSummary.conclusion.limits = [text]
        run.runSummary.conclusion.calls = [CallCount(endpoint: text, result: text, calls: 1)]
        var cause = CauseCluster(bundleID: text, environment: text, cause: text)
        cause.findings = 1
        cause.rows = 1
        cause.example = text
        cause.productID = text
        cause.kinds = [text: 1]
        run.runSummary.conclusion.causes = [cause]
        run.runSummary.money = [
            MoneyTotal(currency: text, direction: .neutral, amount: 1, findings: 1)
        ]
        run.runSummary.liftedGuards = [
            GuardLift(
                name: .maxChanges, reason: text, actor: text, liftedAt: Samples.started,
                liftedBy: text, breach: text)
        ]
        run.runSummary.acknowledged = [
            AcknowledgedFinding(
                findingID: text, kind: .identity, severity: .critical,
                originalTransactionID: text, decision: 1, actor: text, reason: text,
                decidedAt: Samples.started, until: nil)
        ]
        let key = SubscriptionKey(
            bundleID: text, environment: text, originalTransactionID: text)
        run.findings = [FindingState.new, .corrected].map { state in
            var finding = Samples.finding
            finding.state = state
            finding.findingID = text
            finding.finding.key = key
            finding.finding.bundleID = text
            finding.finding.customerID = text
            finding.finding.productID = text
            finding.finding.field = text
            finding.finding.localValue = .text(text)
            finding.finding.appleValue = .text(text)
            finding.finding.currency = text
            finding.finding.cause = text
            return finding
        }
        run.corrections = run.corrections.map { entry in
            var entry = entry
            entry.subscription = key
            entry.transactionID = text
            entry.reason = text
            entry.changes = .subscription([
                .customerID: FieldChange(before: .text(text), after: .text(text))
            ])
            return entry
        }
        run.undecided = [UndecidedRow(key: key, customerID: text, reason: .rateLimited)]
        run.notFound[0].key = key
        run.notFound[0].customerID = text
        run.notFound[0].absence = AbsenceRecord(firstDay: text, lastDay: text, distinctDays: 1)
        run.notifications[0].verdict = text
        run.earlier = [
            EarlierRun(
                runID: text, started: Samples.started.adding(milliseconds: -86_400_000),
                exitStatus: .ok, isPartial: false, totals: RunTotals(), calls: 1,
                figures: RunFigures(
                    kinds: [text: 1],
                    money: [
                        MoneyTotal(currency: text, direction: .neutral, amount: 1, findings: 1)
                    ]))
        ]
        let sums = ControlSums(statuses: [1: 1], prices: [text: .init(periods: 1, amount: 1)])
        let app = AppControlTotals(
            bundleID: text, environment: text, previous: .init(runID: text, sums: sums),
            uncounted: sums, before: sums, corrections: sums, after: sums,
            judged: JudgedTotals(before: sums, apple: sums, after: sums))
        run.runSummary.control = ControlTotals(ledgerEntry: 1, apps: [app, app])
        run.runSummary.measures = RunMeasures(
            effort: CallEffort(
                peaks: [
                    .init(bundleID: text, environment: text, endpoint: text, calls: 1, limit: 2)
                ], waitedMilliseconds: [text: 1]))
        run.earlier[0].callsByEndpoint = [text: 1]
        return run
    }

    @Test func `cannot break it, wherever they stand`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.report(try run())
        let page = try folder.text("latest/report.html")
        #expect(!page.contains("<script"))
        #expect(!page.contains("\u{202E}"))
        #expect(!page.contains("\u{0}"))
        #expect(page.firstMatch(of: /<[^>]* onload/) == nil)
        #expect(page.contains("&lt;script&gt;"))
        // The names of all elements are the program's own.
        let names = Set(page.matches(of: /<\/?([^\s>]+)/).map { String($0.1) })
        let own: Set<String> = [
            "!DOCTYPE", "a", "b", "body", "br", "caption", "code", "dd", "desc", "div", "dl", "dt",
            "figcaption", "figure", "footer", "h1", "h2", "h3", "head", "header", "html", "li",
            "line", "main", "meta", "nav", "ol", "p", "pre", "rect", "section", "span", "strong",
            "style", "svg", "table", "tbody", "td", "th", "thead", "title", "tr", "ul",
        ]
        #expect(names.subtracting(own).isEmpty, "\(names.subtracting(own))")
    }
}
