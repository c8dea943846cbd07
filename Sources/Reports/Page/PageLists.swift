import Subscriptions

/// The lists of the page, each bounded, saying where all of it stands.
struct PageLists {
    let facts: PageFacts

    func append(_ section: PageSection, to page: inout Markup) {
        switch section {
        case .open: PageOpenFindings(worst: facts.worst).append(to: &page)
        case .examples: examples(&page)
        case .corrections: corrections(&page)
        case .absent: absent(&page)
        case .undecided: undecided(&page)
        default: break
        }
    }

    /// Says how much of a list is shown.
    private func extent(
        _ shown: Int, of all: Int, _ noun: String, in file: String, _ page: inout Markup
    ) {
        let text =
            shown < all
            ? "The first \(shown.grouped) of \(all.of(noun)); \(file) has them all."
            : "\(all.of(noun)); \(file) has \(all == 1 ? "it" : "them"), too."
        page.element("p", text)
    }

    private func examples(_ page: inout Markup) {
        guard !facts.examples.isEmpty else {
            page.element("p", "No subscription’s row was written.")
            return
        }
        page.element(
            "p",
            "Rows of different kinds as they stood and as they stand, with the digest of the statement "
                + "that Apple signed. evidence.jsonl has the statements, README.txt the commands that "
                + "check their signatures.")
        for entry in facts.examples {
            let customer = facts.customers[entry.subscription].map { ", customer \($0)" } ?? ""
            let title = entry.subscription.originalTransactionID + customer
            page.element("h3", title)
            let columns = [
                Markup.Column("column"), Markup.Column("before"), Markup.Column("after"),
            ]
            page.table("Ledger entry \(entry.number): \(Self.kinds(of: entry))", columns) { table in
                for (column, change) in entry.changes.named {
                    table.row(
                        [column, Self.shown(change.before), Self.shown(change.after)], columns)
                }
            }
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

    private func corrections(_ page: inout Markup) {
        let fates = SummarySections.corrections(facts.summary)
        if fates.isEmpty { page.element("p", "Nothing was planned or written.") }
        page.table(fates, "Corrections, by what became of them", first: "corrections are")
        guard facts.correctionCount > 0 else { return }
        extent(
            facts.corrections.count, of: facts.correctionCount, "correction",
            in: "corrections.csv", &page)
        let columns = [
            Markup.Column("entry", .number), Markup.Column("subscription"),
            Markup.Column("because of"), Markup.Column("before → after"),
            Markup.Column("evidence"),
        ]
        page.table("Written corrections, in the order of the ledger", columns, named: "dense stack")
        {
            table in
            for entry in facts.corrections {
                table.element("tr") { row in
                    row.element(
                        "td", [.named("n"), .init("data-label", "entry")], String(entry.number))
                    row.element("th", [.init("scope", "row")]) { cell in
                        cell.kept(entry.subscription.originalTransactionID)
                        if let period = entry.transactionID {
                            cell.text(", period ")
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

    private func absent(_ page: inout Markup) {
        guard facts.notFoundCount > 0 else {
            page.element("p", facts.summary.answersAboutIDs)
            return
        }
        extent(
            facts.notFound.count, of: facts.notFoundCount, "id", in: "not_found.csv", &page)
        page.element(
            "p", [.named("soft")],
            "Access is never removed for it. An id is suspect until Apple has failed to find it on "
                + "enough different days.")
        let columns = [
            "subscription", "customer", "our status", "standing", "first day", "last day", "days",
            "Apple’s last word",
        ].map { name in
            Markup.Column(
                name, name == "days" ? .number : Self.dates.contains(name) ? .date : .text)
        }
        page.table("Ids that Apple does not find, with their history", columns) { table in
            for account in facts.notFound {
                table.row(
                    [
                        account.key.originalTransactionID, account.customerID ?? "",
                        account.status.map(String.init) ?? "",
                        account.isConfirmed ? "confirmed" : "suspect", account.absence.firstDay,
                        account.absence.lastDay, account.absence.distinctDays.grouped,
                        account.lastGoodAsOf.map { $0.readable + " UTC" } ?? "none held",
                    ], columns)
            }
        }
    }

    private func undecided(_ page: inout Markup) {
        let totals = facts.summary.totals
        guard totals.undecidedCount > 0 else {
            page.element("p", "Every row in scope that was not excluded has a verdict.")
            return
        }
        extent(
            facts.undecided.values.reduce(0) { $0 + $1.count }, of: totals.undecidedCount, "row",
            in: "undecided.csv", &page)
        let columns = [
            Markup.Column("reason"), Markup.Column("rows", .number),
            Markup.Column("meaning"), Markup.Column("such as"),
        ]
        page.table("Rows without a verdict, by reason", columns) { table in
            for reason in UndecidedReason.allCases {
                guard let rows = totals.undecided[reason], rows > 0 else { continue }
                let examples = (facts.undecided[reason] ?? []).map(\.key.originalTransactionID)
                table.row(
                    [
                        reason.rawValue, rows.grouped, reason.meaning,
                        examples.joined(separator: ", "),
                    ], columns)
            }
        }
    }

    private static let dates: Set<String> = [
        "first day", "last day", "Apple’s last word",
    ]

    private static func kinds(of entry: LedgerEntry) -> String {
        guard entry.undoOf == nil else { return "taken back" }
        return entry.kinds.isEmpty
            ? "ours was empty" : entry.kinds.map(\.rawValue).joined(separator: ", ")
    }

    /// A value for people; what is not there is said, an empty text is seen, and a time is whole.
    static func shown(_ value: FieldValue) -> String {
        switch value {
        case .null: "(none)"
        case .text(""): "\"\""
        case .time(let time):
            time.rfc3339.hasSuffix(".000Z")
                ? time.readable : time.rfc3339.replacing("T", with: " ").replacing("Z", with: "")
        default: value.plainText
        }
    }
}
