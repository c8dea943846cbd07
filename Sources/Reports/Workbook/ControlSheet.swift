import Subscriptions

/// The control totals as a sheet of their own: a line for each count and each status or currency, under the
/// names of `summary.json`.
struct ControlSheet {
    static let sheetName = "xl/worksheets/sheet2.xml"

    private let control: ControlTotals

    /// `nil` where they were not counted.
    init?(_ summary: RunSummary) {
        guard let control = summary.control else { return nil }
        self.control = control
    }

    private static let headings = [
        "app", "environment", "count", "of", "status_or_currency", "number", "amount_in_currency",
        "amount_milliunits",
    ]

    /// The whole sheet; it is as small as the apps and currencies are few.
    var bytes: [UInt8] {
        let widths = Self.headings.indices.map { index in
            "<col min=\"\(index + 1)\" max=\"\(index + 1)\" width=\"22\" customWidth=\"1\"/>"
        }.joined()
        var bytes = Array(
            (WorkbookParts.declaration
                + """
                <worksheet xmlns="\(WorkbookParts.main)"><sheetViews><sheetView workbookViewId="0">\
                <pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>\
                <selection pane="bottomLeft"/></sheetView></sheetViews>\
                <sheetFormatPr defaultRowHeight="15"/><cols>\(widths)</cols><sheetData>

                """).utf8)
        let rows = [Self.headings.map(WorkbookCell.heading)] + control.apps.flatMap(lines)
        for (index, cells) in rows.enumerated() {
            bytes.append(contentsOf: "<row r=\"\(index + 1)\">".utf8)
            for (cell, letter) in zip(cells, "ABCDEFGH") {
                cell.append(at: "\(letter)\(index + 1)", to: &bytes)
            }
            bytes.append(contentsOf: "</row>\n".utf8)
        }
        bytes.append(
            contentsOf: "</sheetData><autoFilter ref=\"A1:H\(rows.count)\"/></worksheet>".utf8)
        return bytes
    }

    private func lines(_ app: AppControlTotals) -> [[WorkbookCell]] {
        let counts: [(String, ControlSums?)] = [
            ("previous", app.previous?.sums), ("uncounted_corrections", app.uncounted),
            ("others_since", app.othersSince), ("before", app.before),
            ("corrections", app.corrections), ("others_meanwhile", app.othersMeanwhile),
            ("after", app.after), ("judged.ours_before", app.judged.before),
            ("judged.apple", app.judged.apple), ("judged.ours_after", app.judged.after),
        ]
        return counts.flatMap { name, sums -> [[WorkbookCell]] in
            guard let sums else { return [] }
            let opening: [WorkbookCell] = [
                .text(app.bundleID), .text(app.environment), .text(name),
            ]
            let rows = ControlSums.statusGroups.map { group -> [WorkbookCell] in
                opening + [
                    .text("rows"), .text(group == 0 ? "none" : String(group)),
                    .integer(Int64(clamping: sums.statuses[group] ?? 0)),
                ]
            }
            let prices = sums.prices.sorted { $0.key < $1.key }.map { currency, price in
                opening + [
                    .text("prices"), .text(currency.isEmpty ? "none" : currency),
                    .integer(Int64(clamping: price.periods)),
                    .amount(milliunits: price.amount, currency: currency),
                    .integer(price.amount),
                ]
            }
            return rows + prices
        }
    }
}
