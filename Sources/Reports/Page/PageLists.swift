import Subscriptions

/// The lists of the page, each bounded, saying where all of it is.
extension Page {
    /// Says how much of a list is shown.
    private func extent(
        _ shown: Int, of all: Int, _ noun: String, in file: String, _ page: inout Markup
    ) {
        let text =
            shown < all
            ? "The first \(shown.grouped) of \(all.of(noun)); \(file) has them all."
            : "\(all.of(noun)); \(file) has \(all == 1 ? "it" : "them") as well."
        page.element("p", text)
    }

    func examples(_ page: inout Markup) {
        guard !facts.examples.isEmpty else {
            page.element("p", "No subscription’s row was written.")
            return
        }
        page.element(
            "p",
            "Rows of different kinds before and after, with the digest of the statement "
                + "that Apple signed. evidence.jsonl has the statements, README.txt the commands that "
                + "check their signatures.")
        for entry in facts.examples {
            let customer = facts.customers[entry.subscription].map { ", customer \($0)" } ?? ""
            let title = entry.subscription.originalTransactionID + customer
            page.element("h3", title)
            page.table(
                "Ledger entry \(entry.number): \(Self.kinds(of: entry))",
                ["column", "before", "after"],
                rows: entry.changes.named.map { column, change in
                    [column, Self.shown(change.before), Self.shown(change.after)]
                })
            page.element("p", [.named("soft")]) { line in
                line.text("Signed by Apple \(entry.appleSignedDate.readable) UTC: ")
                line.element("code", entry.evidence.hexadecimal)
                if let renewal = entry.evidenceRenewal {
                    line.text(", renewal info ")
                    line.element("code", renewal.hexadecimal)
                }
            }
            page.lineFeed()
        }
    }

    func corrections(_ page: inout Markup) {
        let fates = Section.corrections(summary)
        if fates.isEmpty { page.element("p", "Nothing was planned or written.") }
        page.table(fates, "Corrections, by what became of them", first: "corrections are")
        guard facts.correctionCount > 0 else { return }
        extent(
            facts.corrections.count, of: facts.correctionCount, "correction",
            in: "corrections.jsonl", &page)
        page.table(
            "Written corrections, in the order of the ledger",
            [.number("entry"), "subscription", "because of", "before → after", "evidence"],
            named: "dense stack"
        ) { table in
            for entry in facts.corrections {
                table.element("tr") { row in
                    row.element(
                        "td", [.named("n"), .init("data-label", "entry")], String(entry.number))
                    row.element("th", [.init("scope", "row")]) { cell in
                        cell.kept(entry.subscription.originalTransactionID)
                        if let period = entry.transactionID {
                            cell.text(", \(entry.changes.nameOfTransaction) ")
                            cell.kept(period)
                        }
                    }
                    row.element("td", Self.kinds(of: entry))
                    row.element("td", [.named("long")]) { cell in
                        for (index, item) in entry.changes.named.enumerated() {
                            if index > 0 { cell.void("br") }
                            cell.text(
                                "\(item.column) \(Self.shown(item.change.before)) → "
                                    + Self.shown(item.change.after))
                        }
                    }
                    row.element("td") { cell in
                        cell.element("code", entry.evidence.hexadecimal)
                    }
                }
                table.lineFeed()
            }
        }
    }

    func absent(_ page: inout Markup) {
        guard facts.notFoundCount > 0 else {
            page.element("p", summary.answersAboutIDs)
            return
        }
        extent(
            facts.notFound.count, of: facts.notFoundCount, "id", in: "not_found.csv", &page)
        page.element(
            "p", [.named("soft")],
            "No run removes access because of that. An id is suspect until Apple has not found it on "
                + "enough different days.")
        page.table(
            "Ids that Apple does not find, with their history",
            [
                "subscription", "customer", "stored status", "standing", .date("first day"),
                .date("last day"), .number("days"), .date("Apple’s last statement"),
            ],
            rows: facts.notFound.map { account in
                [
                    account.key.originalTransactionID, account.customerID ?? "",
                    account.status.map(String.init) ?? "",
                    account.isConfirmed ? "confirmed" : "suspect", account.absence.firstDay,
                    account.absence.lastDay, account.absence.distinctDays.grouped,
                    account.lastGoodAsOf.map { $0.readable + " UTC" } ?? "none held",
                ]
            })
    }

    func undecided(_ page: inout Markup) {
        let totals = summary.totals
        guard totals.undecidedCount > 0 else {
            page.element("p", "Every row in scope that was not excluded has a verdict.")
            return
        }
        extent(
            facts.undecided.values.reduce(0) { $0 + $1.count }, of: totals.undecidedCount, "row",
            in: "undecided.csv", &page)
        page.table(
            "Rows without a verdict, by reason",
            ["reason", .number("rows"), "meaning", "such as"],
            rows: UndecidedReason.allCases.compactMap { reason in
                guard let rows = totals.undecided[reason], rows > 0 else { return nil }
                let examples = (facts.undecided[reason] ?? []).map(\.key.originalTransactionID)
                return [
                    reason.rawValue, rows.grouped, reason.meaning,
                    examples.joined(separator: ", "),
                ]
            })
    }

    private static func kinds(of entry: LedgerEntry) -> String {
        guard entry.undoOf == nil else { return "reverted" }
        return entry.kinds.isEmpty
            ? "the stored value was empty" : entry.kinds.map(\.rawValue).joined(separator: ", ")
    }

    /// A value for people; a time is complete.
    private static func shown(_ value: FieldValue) -> String {
        guard case .time(let time) = value else { return value.shown }
        return time.rfc3339.hasSuffix(".000Z")
            ? time.readable : time.rfc3339.replacing("T", with: " ").replacing("Z", with: "")
    }
}

/// The worst open findings, two lines each, so that a finding fits on a screen and on paper.
extension Page {
    /// How much of a finding's id and of a digest is shown: of an id the beginning, which
    /// `trueup acknowledge` accepts.
    private static let shownDigits = 12
    /// The longest id of a product or a customer that is on one line.
    private static let mostKept = 40

    func openFindings(_ page: inout Markup) {
        let findings = facts.worst.sorted
        guard !findings.isEmpty else {
            page.element("p", "No finding is open.")
            return
        }
        let (shown, all) = (findings.count, facts.worst.count)
        page.element(
            "p",
            shown < all
                ? "The worst \(shown.grouped) of \(all.of("open finding")), by severity, new ones "
                    + "first; discrepancies.csv has them all, with the whole digests of their evidence."
                : "\(all.of("open finding")), by severity, new ones first; discrepancies.csv has "
                    + "\(all == 1 ? "it" : "them") with the whole digest of the evidence.")
        page.element("p", [.named("soft")]) { line in
            line.text("Ids of findings and digests are shown by their beginnings. ")
            line.element("code", "trueup acknowledge ID --reason TEXT")
            line.text(" removes a finding that may stay as it is from the list.")
        }
        page.table(
            "Open findings, worst first",
            [
                "severity, state, finding", "kind, subscription", "product, customer",
                "field, list price, stored → Apple’s", "first seen, evidence",
            ], named: "dense stack open"
        ) { table in
            for finding in findings { row(of: finding, &table) }
        }
    }

    private func row(of reported: ReportedFinding, _ table: inout Markup) {
        let finding = reported.finding
        table.element("tr") { row in
            row.element("th", [.init("scope", "row")]) { cell in
                cell.element("span", [.named("keep")]) { line in
                    line.element(
                        "span", [.named(finding.severity.ink.name)], finding.severity.rawValue)
                    line.text(", \(reported.state.rawValue)")
                }
                cell.void("br")
                cell.element(
                    "code", [.named("keep")], String(reported.findingID.prefix(Self.shownDigits)))
            }
            row.element("td") { cell in
                cell.kept(finding.kind.rawValue)
                cell.void("br")
                cell.kept(finding.key?.originalTransactionID ?? finding.bundleID)
            }
            row.element("td") { cell in
                for (index, id) in [finding.productID, finding.customerID].enumerated() {
                    if index > 0 { cell.void("br") }
                    guard let id else { continue }
                    // Others give these, and they can be of any length.
                    if id.utf8.count <= Self.mostKept { cell.kept(id) } else { cell.text(id) }
                }
            }
            row.element("td") { values(of: finding, &$0) }
            row.element("td", [.init("data-label", "first seen")]) { cell in
                cell.element("span", [.named("d")], reported.firstSeen.utcDay)
                guard let evidence = finding.evidence else { return }
                cell.void("br")
                cell.element(
                    "code", [.named("keep")],
                    String(evidence.hexadecimal.prefix(Self.shownDigits)))
            }
        }
        table.lineFeed()
    }

    /// Nothing where a finding is not about a value.
    private func values(of finding: Finding, _ cell: inout Markup) {
        let first = [finding.field, Self.price(of: finding)].compactMap(\.self)
        for (index, text) in first.enumerated() {
            if index > 0 { cell.text(", ") }
            cell.element("span", [.named("part")], text)
        }
        guard finding.field != nil || finding.localValue != .null || finding.appleValue != .null
        else { return }
        if !first.isEmpty { cell.void("br") }
        cell.element("span", [.named("part")], Self.shown(finding.localValue) + " →")
        cell.text(" ")
        cell.element("span", [.named("part")], Self.shown(finding.appleValue))
    }

    private static func price(of finding: Finding) -> String? {
        finding.amount.flatMap { amount in
            finding.currency.map { "\(amount.amount(in: $0)) \($0)" }
        }
    }
}

/// The most severe of very many findings that nothing has resolved, never holding many more than it
/// gives.
struct WorstFindings {
    /// Findings that are open: neither corrected nor acknowledged.
    static let openStates: Set<FindingState> = [.new, .open, .recurring]

    let limit: Int
    /// How many came, those that were not kept among them.
    private(set) var count = 0
    private var held: [(finding: ReportedFinding, order: Int)] = []

    init(limit: Int) { self.limit = limit }

    /// Findings must come in the order of the report.
    mutating func add(_ finding: ReportedFinding) {
        guard Self.openStates.contains(finding.state) else { return }
        held.append((finding, count))
        count += 1
        if held.count >= 2 * max(1, limit) { cut() }
    }

    /// By severity, then new before others, then in the order of the report.
    var sorted: [ReportedFinding] {
        var all = self
        all.cut()
        return all.held.map(\.finding)
    }

    private mutating func cut() {
        held.sort { left, right in
            let (first, second) = (left.finding, right.finding)
            guard first.finding.severity == second.finding.severity else {
                return first.finding.severity > second.finding.severity
            }
            let (isNew, isOtherNew) = (first.state == .new, second.state == .new)
            return isNew == isOtherNew ? left.order < right.order : isNew
        }
        held.removeLast(max(0, held.count - limit))
    }
}
