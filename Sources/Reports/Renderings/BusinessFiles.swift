import Subscriptions

extension ReportFile {
    static let business = ReportFile(
        name: "business.jsonl",
        purpose: "renewals, cancellations, trials, refunds and failed charges by day and product, "
            + "counted from Apple's signed notifications; empty where none were read"
    ) { source, file in
        let table = Table.business(in: source.runID).stating(source.notice)
        try BusinessView(source.summary).forEachLine { line in
            try file.append { table.appendJSON(line, to: &$0) }
        }
    }

    static let businessCSV = ReportFile(
        name: "business.csv", purpose: "the same for a spreadsheet"
    ) { source, file in
        let table = Table.business(in: source.runID).stating(source.notice)
        try file.write(table.csvHeader)
        try BusinessView(source.summary).forEachLine { line in
            try file.append { table.appendCSV(line, to: &$0) }
        }
    }
}
