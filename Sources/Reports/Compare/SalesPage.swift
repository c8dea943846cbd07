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
struct SalesPage {
    let sums: SalesSummary
    private static let mostCharts = 30
    private static let shownDays = 60

    func append(to page: inout Markup) {
        page.element("h2", "Risk: customers that no run can see")
        page.element(
            "p",
            sums.unseen == 0
                ? "On no compared day does Apple count more subscriptions than trueup has rows of."
                : "On the day with the largest gap, Apple counts \(Int(clamping: sums.unseen).grouped) more "
                    + "subscriptions than trueup has rows of. A run checks the rows of your table, so "
                    + "it cannot check these. Import their ids to find them.")
        charts(&page)
    }

    private func charts(_ page: inout Markup) {
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
                SalesChart(product: product, days: days.suffix(Self.shownDays))
                    .append(number: number, to: &part)
            }
        }
        let more = products.count - Self.mostCharts
        if more > 0 { page.element("p", "\(more.grouped) more products are in days.csv.") }
    }

    static func list(
        _ differences: [CompareDifference], _ caption: String, _ page: inout Markup
    ) {
        let columns = [
            Markup.Column("product"), Markup.Column("day", .date), Markup.Column("number of"),
            Markup.Column("App Store Connect", .number), Markup.Column("signed", .number),
            Markup.Column("explained"), Markup.Column("not explained", .number),
            Markup.Column("not explained before"), Markup.Column("who loses"),
        ]
        page.table(caption, columns, named: "dense") { table in
            for difference in differences {
                guard let detail = difference.sales else { continue }
                table.row(
                    [
                        detail.productID, detail.day, difference.field ?? "",
                        difference.theirs.isEmpty ? "no line" : difference.theirs.plainText,
                        difference.apple.plainText, detail.explainedText,
                        Int(clamping: detail.unexplained).grouped, detail.historyText,
                        CompareWords.meaning(of: difference.direction),
                    ], columns)
            }
        }
    }
}

/// The drawing of two numbers a day, with the same in words.
private struct SalesChart {
    let product: String
    /// The oldest first.
    let days: ArraySlice<SalesDay>

    private static let slot = 12
    private static let height = 48

    func append(number: Int, to page: inout Markup) {
        let highest = max(1, days.flatMap { [$0.theirs, $0.apple] }.max() ?? 1)
        page.element("figure") { figure in
            figure.element("figcaption") { caption in
                caption.element("b", product)
                if let last = days.last {
                    caption.text(
                        ": \(Int(clamping: last.theirs).grouped) in Apple's report and "
                            + "\(Int(clamping: last.apple).grouped) signed on \(last.day)")
                }
            }
            let width = max(1, days.count) * Self.slot
            figure.element(
                "svg",
                [
                    .init("viewBox", "0 0 \(width) \(Self.height + 4)"), .init("role", "img"),
                    .init("preserveAspectRatio", "none"),
                    .init("aria-labelledby", "st\(number) sd\(number)"),
                ]
            ) { drawing in
                drawing.element("title", [.init("id", "st\(number)")], product)
                drawing.element(
                    "desc", [.init("id", "sd\(number)")],
                    days.map { "\($0.day): \($0.theirs) in the report, \($0.apple) signed" }
                        .joined(separator: "; "))
                for (index, day) in days.enumerated() {
                    let left = index * Self.slot + 1
                    bar(day.theirs, of: highest, at: left, "last", &drawing)
                    bar(day.apple, of: highest, at: left + Self.slot / 2 - 1, "bar", &drawing)
                }
                drawing.shape(
                    "line",
                    [
                        .named("base"), .init("x1", "0"), .init("y1", "\(Self.height)"),
                        .init("x2", "\(width)"), .init("y2", "\(Self.height)"),
                    ])
            }
        }
        page.lineFeed()
    }

    private func bar(
        _ value: Int64, of highest: Int64, at left: Int, _ name: String, _ drawing: inout Markup
    ) {
        guard value > 0 else { return }
        let share = Double(value) / Double(highest) * Double(Self.height - 2)
        let tall = max(1, Int(share.rounded()))
        drawing.shape(
            "rect",
            [
                .named(name), .init("x", "\(left)"), .init("y", "\(Self.height - tall)"),
                .init("width", "\(Self.slot / 2 - 2)"), .init("height", "\(tall)"),
            ])
    }
}
