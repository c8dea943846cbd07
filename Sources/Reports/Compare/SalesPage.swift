package import Subscriptions

extension SalesDetail {
    /// For example `time_zone=2 unchecked=1`; empty where nothing is explained.
    var explainedText: String {
        SalesExplanation.allCases.compactMap { reason in
            explained[reason].map { "\(reason.rawValue)=\($0)" }
        }.joined(separator: " ")
    }

    /// The unexplained rest on earlier days, for example `2026-11-18=2 2026-11-19=0`.
    var historyText: String {
        history.map { "\($0.day)=\($0.unexplained)" }.joined(separator: " ")
    }
}

/// The file with every compared number, from which later comparisons take their history.
enum SalesDaysFile {
    static let name = "days.csv"

    /// The product is last: it is the only value that may have commas.
    private static let table = Table<SalesDay>([
        ("day", { .own($0.day) }),
        ("measure", { .own($0.measure) }),
        ("theirs", { .integer($0.theirs) }),
        ("apple", { .integer($0.apple) }),
        ("unexplained", { .integer($0.unexplained) }),
        ("product_id", { .own($0.productID) }),
    ])

    static func text(_ days: [SalesDay]) -> String {
        var bytes = Array(table.csvHeader.utf8)
        for day in days { table.appendCSV(day, to: &bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads such a file; lines that are none are left out.
    static func days(in text: String) -> [SalesDay] {
        text.split(whereSeparator: \.isNewline).dropFirst().compactMap { line in
            let parts = line.split(
                separator: ",", maxSplits: 5, omittingEmptySubsequences: false)
            guard parts.count == 6, let theirs = Int64(parts[2]), let apple = Int64(parts[3]),
                let rest = Int64(parts[4])
            else { return nil }
            var product = String(parts[5])
            if product.hasPrefix("\""), product.hasSuffix("\""), product.count > 1 {
                product = String(product.dropFirst().dropLast()).replacing("\"\"", with: "\"")
            }
            return SalesDay(
                day: String(parts[0]), measure: String(parts[1]), theirs: theirs, apple: apple,
                unexplained: rest, productID: product)
        }
    }
}

extension CompareReport {
    /// The newest earlier comparisons that are read for the history.
    private static let mostFolders = 400

    /// The compared numbers of earlier comparisons of sums, in the order of their days.
    ///
    /// Of several comparisons of a day the newest counts.
    package static func earlierDays(in directory: String) -> [SalesDay] {
        var folders: [String] = []
        for day in FileSystem.names(in: directory).reversed() where folders.count < mostFolders {
            guard day.first?.isNumber == true else { continue }
            folders += FileSystem.names(in: directory + "/" + day).reversed().map {
                "\(directory)/\(day)/\($0)"
            }
        }
        var known: Set<String> = []
        var days: [SalesDay] = []
        for folder in folders.prefix(mostFolders) {
            guard let bytes = FileSystem.contents(of: folder + "/" + SalesDaysFile.name) else {
                continue
            }
            for day in SalesDaysFile.days(in: String(decoding: bytes, as: UTF8.self))
            where known.insert("\(day.day)\n\(day.measure)\n\(day.productID)").inserted {
                days.append(day)
            }
        }
        return days.sorted {
            ($0.day, $0.productID, $0.measure) < ($1.day, $1.productID, $1.measure)
        }
    }
}

/// The parts of the page that only a comparison of sums has.
extension ComparePage {
    private static let mostCharts = 30
    private static let shownDays = 60

    func sums(_ sums: SalesSummary, _ page: inout Markup) {
        page.element("h2", "Risk: customers that no run can see")
        page.element(
            "p",
            sums.unseen == 0
                ? "On no compared day does Apple count more subscriptions than trueup has rows of."
                : "On the day with the largest gap, Apple counts \(Int(clamping: sums.unseen).grouped) more "
                    + "subscriptions than trueup has rows of. A run checks the rows of your table, so "
                    + "it cannot check these. Import their ids to find them.")
        charts(sums, &page)
    }

    private func charts(_ sums: SalesSummary, _ page: inout Markup) {
        let all = (sums.earlier + sums.days).filter { $0.measure == SalesSummary.activeMeasure }
        let products = Set(all.map(\.productID)).sorted()
        guard !products.isEmpty else { return }
        page.element("h2", "Active subscriptions by product")
        page.element(
            "p",
            "Each day has two bars: the left one is the number of Apple's report, the right one that of "
                + "signed statements. Days are counted in the zone \(sums.zone.rawValue).")
        page.element("div", [.named("charts")]) { part in
            for (number, product) in products.prefix(Self.mostCharts).enumerated() {
                let days = all.filter { $0.productID == product }.sorted { $0.day < $1.day }
                chart(of: product, days.suffix(Self.shownDays), number, &part)
            }
        }
        let more = products.count - Self.mostCharts
        if more > 0 { page.element("p", "\(more.grouped) more products are in days.csv.") }
    }

    func listOfSums(
        _ differences: [CompareDifference], _ caption: String, _ page: inout Markup
    ) {
        page.table(
            caption,
            [
                "product", .date("day"), "number of", .number("App Store Connect"),
                .number("signed"), "explained", .number("not explained"), "not explained before",
                "who loses",
            ], named: "dense",
            rows: differences.compactMap { difference in
                guard let detail = difference.sales else { return nil }
                return [
                    detail.productID, detail.day, difference.field ?? "",
                    difference.theirs.isEmpty ? "no line" : difference.theirs.plainText,
                    difference.apple.plainText, detail.explainedText,
                    Int(clamping: detail.unexplained).grouped, detail.historyText,
                    difference.direction.loser,
                ]
            })
    }

    /// Two numbers a day, the oldest day first, with the same in words.
    private func chart(
        of product: String, _ days: ArraySlice<SalesDay>, _ number: Int, _ page: inout Markup
    ) {
        let slot = 12
        let highest = max(1, days.flatMap { [$0.theirs, $0.apple] }.max() ?? 1)
        let caption = days.last.map { last in
            ": \(Int(clamping: last.theirs).grouped) in Apple's report and "
                + "\(Int(clamping: last.apple).grouped) signed on \(last.day)"
        }
        page.drawing(
            product, caption: caption ?? "",
            description:
                days.map { "\($0.day): \($0.theirs) in the report, \($0.apple) signed" }
                .joined(separator: "; "),
            ids: ("st\(number)", "sd\(number)"), width: max(1, days.count) * slot
        ) { drawing in
            for (index, day) in days.enumerated() {
                let left = index * slot + 1
                drawing.bar(
                    day.theirs, of: highest, from: left, width: slot / 2 - 2, named: "last")
                drawing.bar(
                    day.apple, of: highest, from: left + slot / 2 - 1, width: slot / 2 - 2,
                    named: "bar")
            }
        }
    }
}
