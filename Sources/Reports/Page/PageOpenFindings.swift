import Subscriptions

/// The worst open findings, two lines each, so that a finding fits on a screen and on paper.
struct PageOpenFindings {
    let worst: WorstFindings

    /// How much of a finding's id stands: the beginning, which `trueup acknowledge` takes.
    static let idDigits = 12
    private static let evidenceDigits = 12
    /// The longest id of a product or a customer that stands on one line.
    private static let mostKept = 40

    func append(to page: inout Markup) {
        let findings = worst.sorted
        guard !findings.isEmpty else {
            page.element("p", "No finding is open.")
            return
        }
        let (shown, all) = (findings.count, worst.count)
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
            line.text(" takes a finding that may stay as it is out of the list.")
        }
        let columns = [
            "severity, state, finding", "kind, subscription", "product, customer",
            "field, list price, ours → Apple’s", "first seen, evidence",
        ].map { Markup.Column($0) }
        page.table("Open findings, worst first", columns, named: "dense stack open") { table in
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
                cell.element("code", [.named("keep")], Self.id(reported))
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
                    String(evidence.hexadecimal.prefix(Self.evidenceDigits)))
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
        cell.element("span", [.named("part")], PageLists.shown(finding.localValue) + " →")
        cell.text(" ")
        cell.element("span", [.named("part")], PageLists.shown(finding.appleValue))
    }

    private static func price(of finding: Finding) -> String? {
        finding.amount.flatMap { amount in
            finding.currency.map { "\(amount.amount(in: $0)) \($0)" }
        }
    }

    /// The beginning of a finding's id.
    static func id(_ reported: ReportedFinding) -> String {
        String(reported.findingID.prefix(idDigits))
    }
}
