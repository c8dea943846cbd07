import Subscriptions

extension ReportFile {
    /// The findings are read twice: an archive states the size of an entry before its bytes, and
    /// nothing is held for each finding.
    static let discrepanciesWorkbook = ReportFile(
        name: "discrepancies.xlsx",
        purpose: "the same findings as a workbook: amounts in units of the currency, dates as "
            + "dates in UTC, with filters"
    ) { source, file in
        let sheet = FindingSheet(source)
        var measured = Checksum()
        let lastRow = try sheet.write { measured.update($0) }
        var archive = StoredArchive()
        let parts = WorkbookParts(
            title: "findings", filtered: (sheet.lastColumn, lastRow),
            control: ControlSheet(source.summary)?.bytes)
        for part in parts.all {
            let bytes = archive.entry(part.name, holding: part.bytes)
            try file.append { $0.append(contentsOf: bytes) }
        }
        let opening = archive.opening(of: WorkbookParts.sheetName, holding: measured)
        try file.append { $0.append(contentsOf: opening) }
        var written = Checksum()
        _ = try sheet.write { bytes in
            written.update(bytes)
            try file.append { $0.append(contentsOf: bytes) }
        }
        guard written == measured else {
            throw ReportError.record(
                "the findings of \(source.runID) changed while discrepancies.xlsx was written; "
                    + "render the run again")
        }
        let directory = archive.directory()
        try file.append { $0.append(contentsOf: directory) }
    }
}

/// The findings as the rows of one sheet, handed over row by row.
struct FindingSheet {
    /// The rows of a sheet, as every spreadsheet program takes them.
    static let rowLimit = 1_048_576
    /// Bytes of a sheet, so that an archive without zip64 holds it.
    static let byteLimit = 4_000_000_000

    /// A column; `letters` are those of its cells, without the row.
    private typealias Column = (name: String, letters: String, cell: (ReportedFinding) -> Cell)

    private let source: ReportSource
    private let columns: [Column]
    private let rowLimit: Int

    /// - Parameters:
    ///   - source: The run.
    ///   - rowLimit: Rows with the heading; fewer in a test.
    init(_ source: ReportSource, rowLimit: Int = FindingSheet.rowLimit) {
        self.source = source
        self.rowLimit = rowLimit
        let named = Table.findings.stating(source.notice).columns
        columns = named.enumerated().map { index, plain in
            let name = plain.name == "amount" ? "amount_in_currency" : plain.name
            return (name, Self.letters(of: index), plain.cell)
        }
    }

    /// The letters of the last column.
    var lastColumn: String { columns.last?.letters ?? "A" }

    /// Writes the sheet.
    ///
    /// - Parameter hand: Takes the next bytes.
    /// - Returns: The last row that the filters cover.
    /// - Throws: What reading the findings or `hand` throws.
    func write(_ hand: ([UInt8]) throws -> Void) throws -> Int {
        var written = 0
        var row = 1
        var isFull = false
        try hand(
            WorkbookParts.opening(widths: columns.map { Self.width($0.name) }, isSelected: true))
        try hand(rowBytes(1, isHeading: true) { .text($0.name) })
        try source.record.forEachFinding { finding in
            guard !isFull else { return }
            let bytes = rowBytes(row + 1) { $0.cell(finding) }
            written += bytes.count
            // The last row is kept for the sentence that says so.
            guard row + 1 < rowLimit, written < Self.byteLimit else {
                isFull = true
                return
            }
            row += 1
            try hand(bytes)
        }
        if isFull {
            var closing = Array("<row r=\"\(row + 1)\">".utf8)
            Cell.text(Self.remark).append(at: "A\(row + 1)", to: &closing)
            closing.append(contentsOf: "</row>\n".utf8)
            try hand(closing)
        }
        let filter = "</sheetData><autoFilter ref=\"A1:\(lastColumn)\(row)\"/></worksheet>"
        try hand(Array(filter.utf8))
        return row
    }

    static let remark = "A sheet takes no more rows than these: discrepancies.csv has all findings."

    private static func width(_ column: String) -> Int {
        switch column {
        case "cause", "product_id", "notice": 48
        case "evidence": 68
        case "field": 38
        case "finding_id", "run_id", "app": 27
        case "environment", "severity", "state", "currency", "action": 12
        default: 22
        }
    }

    private func rowBytes(
        _ row: Int, isHeading: Bool = false, _ cell: (Column) -> Cell
    ) -> [UInt8] {
        let number = String(row)
        var bytes = Array("<row r=\"\(number)\">".utf8)
        bytes.reserveCapacity(2048)
        for column in columns {
            cell(column).append(at: column.letters + number, isHeading: isHeading, to: &bytes)
        }
        bytes.append(contentsOf: "</row>\n".utf8)
        return bytes
    }

    /// `A` to `Z`, then `AA` and so on, counted from 0.
    private static func letters(of index: Int) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        let (high, low) = max(0, index).quotientAndRemainder(dividingBy: alphabet.count)
        return (high == 0 ? "" : letters(of: high - 1)) + String(alphabet[low])
    }
}

/// The control totals as a sheet of their own: a line for each count and each status or currency, under the
/// names of `summary.json`.
struct ControlSheet {
    static let sheetName = "xl/worksheets/sheet2.xml"

    private let control: ControlTotals
    private let purchases: PurchaseTotals?

    /// `nil` where they were not counted.
    init?(_ summary: RunSummary) {
        guard let control = summary.control else { return nil }
        self.control = control
        purchases = summary.measures?.purchases
    }

    private static let headings = [
        "app", "environment", "count", "of", "status_or_currency", "number", "amount_in_currency",
        "amount_milliunits",
    ]

    /// The whole sheet; it is as small as the apps and currencies are few.
    var bytes: [UInt8] {
        var bytes = WorkbookParts.opening(widths: Self.headings.map { _ in 22 })
        let rows =
            [Self.headings.map(Cell.own)] + control.apps.flatMap(lines) + purchaseLines
        for (index, cells) in rows.enumerated() {
            bytes.append(contentsOf: "<row r=\"\(index + 1)\">".utf8)
            for (cell, letter) in zip(cells, "ABCDEFGH") {
                cell.append(at: "\(letter)\(index + 1)", isHeading: index == 0, to: &bytes)
            }
            bytes.append(contentsOf: "</row>\n".utf8)
        }
        bytes.append(
            contentsOf: "</sheetData><autoFilter ref=\"A1:H\(rows.count)\"/></worksheet>".utf8)
        return bytes
    }

    /// Of all apps of the run together.
    private var purchaseLines: [[Cell]] {
        (purchases?.counts ?? [:]).sorted { $0.key < $1.key }.map { name, number in
            [
                .text(""), .text(""), .text("purchases." + name), .text("purchases"), .text(""),
                .integer(number),
            ]
        }
    }

    private func lines(_ app: AppControlTotals) -> [[Cell]] {
        let counts: [(String, ControlSums?)] = [
            ("previous", app.previous?.sums), ("uncounted_corrections", app.uncounted),
            ("others_since", app.othersSince), ("before", app.before),
            ("corrections", app.corrections), ("others_meanwhile", app.othersMeanwhile),
            ("after", app.after), ("judged.ours_before", app.judged.before),
            ("judged.apple", app.judged.apple), ("judged.ours_after", app.judged.after),
        ]
        return counts.flatMap { name, sums -> [[Cell]] in
            guard let sums else { return [] }
            let opening: [Cell] = [
                .text(app.bundleID), .text(app.environment), .text(name),
            ]
            let rows = ControlSums.statusGroups.map { group -> [Cell] in
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
