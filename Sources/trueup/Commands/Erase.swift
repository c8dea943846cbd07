import ArgumentParser
import Reports
import SubscriptionStore
import Subscriptions

/// `trueup erase`: takes one customer's signed payloads out of the database.
struct Erase: Verb {
    static let configuration = CommandConfiguration(
        abstract: "List one customer's signed payloads, or erase them with --execute.",
        discussion: """
            Each erased payload leaves a tombstone with its digest, so that the ledger's chain of hashes \
            still holds. The command also removes messages of events about the customer, the payments \
            elsewhere that were imported, and the entitlements of a customer who has no row any more. \
            Rows, findings and ledger entries stay. Report folders are sealed and stay as well; the \
            command names those that show something of the customer. Erased payloads do not come back. \
            But as long as the table has a row of the customer, Apple's next answer for it is new \
            evidence. Erase before you delete the rows: they say which payloads are the customer's.
            """)

    @Argument(help: ArgumentHelp("The customer_id of the rows.", valueName: "customer"))
    var customer: String

    @Flag(help: "Erase the payloads; without it nothing is changed.")
    var execute = false

    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database],
        [
            .ok: "listed or erased", .empty: "no row and no finding has that customer_id",
            .busy:
                "a run is active, or a program that reads the database keeps the old pages on the "
                + "disk; run it again",
        ])

    func validate() throws {
        try dry.refuse(with: execute)
        try refuse(
            if: customer.allSatisfy(\.isWhitespace),
            "CUSTOMER is empty; give the customer_id of the rows. Nothing was erased.")
    }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        guard execute else {
            let store = try Books(settings).openToRead(at: invocation.now())
            let found = try await store.evidence(ofCustomer: customer)
            return try show(found, erasedNow: nil, settings, in: invocation)
        }
        let holder = RunningUser.lockHolder(doing: "erasing evidence")
        let lock = try invocation.lock(settings, for: holder)
        let books = try Books(settings, holder: holder)
        defer { books.release() }
        try books.bringUpToDate(under: lock)
        let link =
            settings.company.mapping?.entitlements == nil
            ? nil
            : try settings.company.link(booksAt: settings.databasePath)
        let store = try books.openToWrite(company: link)
        // An erased line can no longer say which reports show it.
        var found = try await store.evidence(ofCustomer: customer)
        let erased = try await store.eraseEvidence(ofCustomer: customer, at: invocation.now())
        try await store.eraseCompanyEntitlements(ofCustomer: customer, in: settings.identities)
        for remark in store.companyRemarks { invocation.say(remark) }
        let left = try await store.evidence(ofCustomer: customer)
        (found.kept, found.events) = (left.kept, left.events)
        _ = consume lock
        return try show(found, erasedNow: erased, settings, in: invocation)
    }

    private func show(
        _ found: CustomerEvidence, erasedNow: Int?, _ settings: Settings,
        in invocation: Invocation
    ) throws -> ExitStatus {
        let standing = found.reportedBy.filter {
            ReportFolder.isPublished($0, in: settings.reportDirectory)
        }
        let unlisted = found.unlistedRuns.last {
            ReportFolder.isPublished($0, in: settings.reportDirectory)
        }
        try common.show(
            .object([
                "customer_id": .string(customer),
                "erased_before": .count(found.erased),
                "erased_now": .count(erasedNow ?? 0),
                "events": .count(found.events),
                "kept": .count(found.kept),
                "lists_deleted_through": .text(unlisted),
                "purchases": .count(found.purchases),
                "runs": .strings(standing),
                "subscriptions": .strings(found.subscriptions.map(\.originalTransactionID)),
            ]), lines(of: found, standing, unlisted, erasedNow: erasedNow, settings),
            in: invocation)
        return found.subscriptions.isEmpty ? .empty : .ok
    }

    private func lines(
        of found: CustomerEvidence, _ standing: [String], _ unlisted: String?, erasedNow: Int?,
        _ settings: Settings
    ) -> [String] {
        let rows = found.subscriptions.count
        guard rows > 0 else {
            return [
                "No row and no finding has the customer_id \(customer); nothing was erased. If its "
                    + "rows were deleted before, signed payloads of them may still be stored."
            ]
        }
        let subscriptions = rows > found.purchases ? rows - found.purchases : 0
        let counts = [
            subscriptions > 0 ? subscriptions.counted("subscription") : nil,
            found.purchases > 0 ? found.purchases.counted("one-time purchase") : nil,
        ].compactMap(\.self).joined(separator: ", ")
        var lines = [
            "Customer \(customer): \(counts), \(found.kept) signed payloads kept, "
                + "\(found.erased + (erasedNow ?? 0)) erased.",
            erasedNow.map { "\($0) erased now; their digests stay as tombstones." }
                ?? "Nothing was erased. Add --execute to erase the payloads that are kept.",
        ]
        if found.events > 0 {
            lines.append("\(found.events) messages of events are kept as well.")
        }
        if !standing.isEmpty {
            lines.append(
                "Report folders are sealed and keep what they show. These of "
                    + "\(settings.reportDirectory) still show payloads or rows of the customer; "
                    + "delete them from the front of the chain when their time is over:")
            lines += standing.map { "  " + $0 }
        }
        if let unlisted {
            lines.append(
                "The lists of runs up to \(unlisted) are deleted (retention), so not all of their "
                    + "folders that show the customer are named. Search them for the ids that "
                    + "--json lists.")
        }
        let comparisons = settings.reportDirectory + "/" + CompareReport.folderName
        if ReportFolder.newestRun(in: comparisons) != nil {
            lines.append(
                "Reports of comparisons were not looked through. Those of \(comparisons) may show "
                    + "the customer too; search them for the ids that --json lists.")
        }
        return lines
    }
}
