import Reconciliation
import Reports
import RowFiles
import SubscriptionStore
import Subscriptions

/// `trueup compare app-store-connect`.
extension Compare {
    /// Compares the sums of sales reports with those of signed statements.
    ///
    /// - Returns: The comparison, and what its report says.
    func compareSales(
        _ store: SQLiteStore, _ settings: Settings, _ header: RunHeader, _ clock: () -> Timestamp,
        directory: String, invocation: Invocation
    ) async throws -> (comparison: SalesComparison, summary: CompareSummary) {
        let products = settings.salesProducts
        guard !products.isEmpty else {
            throw CommandFailure(
                .config,
                "\(settings.file): app_store_connect.products is missing, and no product of a "
                    + "catalogue has an apple_id, so no product of the reports is known. Nothing was "
                    + "compared. Add the Subscription Apple ID of each product, as docs/compare.md "
                    + "shows.")
        }
        let zone = timeZone ?? settings.sales.zone
        let earlier = CompareReport.earlierDays(in: directory)
        var files = self.files
        var fetched: SalesFetch.Fetched = ([], [])
        if fetch {
            let days = SalesFetch.days(
                at: header.started, in: zone, compared: Set(earlier.map(\.day)))
            fetched = try await SalesFetch(
                settings: settings, invocation: invocation, isQuiet: common.quiet
            ).perform(days)
            files += fetched.files
        }
        var intake = SalesIntake()
        for file in files {
            do {
                try intake.read(file, in: invocation, asJSON: common.json)
            } catch let error where fetched.files.contains(file) {
                let report = ErrorReport(error)
                throw CommandFailure(
                    report.status,
                    report.message
                        + " The file was fetched from App Store Connect. If you delete it, "
                        + "the next comparison with --fetch gets it again.")
            }
        }
        var counter = SalesCounter(days: intake.sums.allDays, zone: zone)
        try store.count(into: &counter)
        let compared = Set(intake.sums.allDays.map(CivilDate.text(ofDay:)))
        let comparison = SalesComparison(
            intake.sums, own: counter, products: products,
            today: header.started.dayNumber, history: earlier)
        var summary = CompareSummary(
            header: header, side: side.rawValue, title: "App Store Connect", ended: clock(),
            totals: comparison.totals, counts: comparison.counts,
            notes: fetched.notes + notes(comparison, counter, intake, products, zone), files: files,
            ledgerHead: try store.ledgerHead().hash)
        summary.sums = SalesSummary(
            zone: zone, days: comparison.days,
            earlier: earlier.filter { !compared.contains($0.day) }, unseen: comparison.unseen)
        return (comparison, summary)
    }

    private func notes(
        _ comparison: SalesComparison, _ counter: SalesCounter, _ intake: SalesIntake,
        _ products: [String: String], _ zone: SalesZone
    ) -> [String] {
        var notes = ["Days are counted in the zone \(zone.rawValue)."]
        if comparison.totals.wantingStatement > 0 {
            notes.append(
                "\(RevenueCatSentence.grouped(comparison.totals.wantingStatement)) of the lines could "
                    + "not be compared, because trueup does not know the state of some rows on that "
                    + "day. Run a job that corrects, with \"coverage: full\" and \"history: always\", "
                    + "soon after the day, then compare.")
        }
        if !comparison.unmapped.isEmpty {
            let named = comparison.unmapped.sorted().map { id in
                intake.names[id].map { "\(id) (\($0))" } ?? id
            }
            notes.append(
                "app_store_connect.products does not have \(Self.list(named)), which the files have: "
                    + "not compared.")
        }
        let lacking = counter.products.subtracting(products.values).sorted()
        if !lacking.isEmpty {
            notes.append(
                "app_store_connect.products does not have \(Self.list(lacking)), of which trueup has "
                    + "rows: not compared.")
        }
        notes += Self.note(ofUnknown: intake.unknownColumns)
        notes.append(
            "Family members and sandbox purchases are left out. Countries, prices, proceeds, marketing "
                + "opt-ins and the column Subscribers are not compared, because trueup stores no signed "
                + "statement of them.")
        return notes
    }
}

/// The files of one comparison while they are read.
private struct SalesIntake {
    private(set) var sums = SalesSums()
    private(set) var unknownColumns: Set<String> = []
    /// The names of products by Apple's numbers.
    private(set) var names: [String: String] = [:]
    private var files: [String] = []

    /// Reads a file.
    ///
    /// - Throws: 65 where it has bad lines, of which the first are named, or the lines of another file.
    mutating func read(_ file: String, in invocation: Invocation, asJSON: Bool) throws {
        var reader = try SalesFileReader(salesAt: file)
        unknownColumns.formUnion(reader.unknownSalesColumns)
        if let day = SalesFileName.day(in: file) { sums.cover(day, by: reader.salesReport) }
        let number = files.count
        try BadLineLog.readAll(&reader, of: file, in: invocation, asJSON: asJSON) { line, _ in
            guard let line, let other = sums.add(line, ofFile: number) else { return }
            throw CommandFailure(
                .data,
                "\(PlainText.of(file)): has lines of a product and day that "
                    + "\(PlainText.of(files[other])) has too. Nothing was compared. "
                    + "Name each report once.")
        }
        files.append(file)
    }
}
