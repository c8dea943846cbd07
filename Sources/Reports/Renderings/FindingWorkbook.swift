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
        var measured = SheetMeasure()
        let lastRow = try sheet.write { measured.take($0) }
        var archive = StoredArchive()
        let parts = WorkbookParts(
            title: "findings", filtered: (sheet.lastColumn, lastRow),
            control: ControlSheet(source.summary)?.bytes)
        for part in parts.all {
            let bytes = archive.entry(part.name, holding: part.bytes)
            try file.append { $0.append(contentsOf: bytes) }
        }
        let opening = archive.opening(
            of: WorkbookParts.sheetName, size: UInt32(clamping: measured.bytes),
            checksum: measured.checksum.value)
        try file.append { $0.append(contentsOf: opening) }
        var written = SheetMeasure()
        _ = try sheet.write { bytes in
            written.take(bytes)
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

/// The size and the checksum of what passed.
private struct SheetMeasure: Equatable {
    var bytes = 0
    var checksum = Checksum()

    mutating func take(_ piece: [UInt8]) {
        bytes += piece.count
        checksum.update(piece)
    }
}
