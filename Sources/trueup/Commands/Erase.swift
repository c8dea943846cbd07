package import ArgumentParser
import Reports
import SubscriptionStore
package import Subscriptions

/// `trueup erase`: takes one customer's signed payloads out of the database.
package struct Erase: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "List one customer's signed payloads, or erase them with --execute.",
        discussion: """
            Each erased payload leaves a tombstone with its digest, so that the ledger's chain of hashes \
            still holds. The command also removes messages of events about the customer, the payments \
            elsewhere that were imported, and the entitlements of a customer who has no row any more. \
            Rows, findings and ledger entries stay. Report folders are sealed and stay as well; the \
            command names those that show something of the customer. Erased payloads do not come back. \
            But as long as the table has a row of the customer, Apple's next answer for it is new \
            evidence.
            """)

    @Argument(help: ArgumentHelp("The customer_id of the rows.", valueName: "customer"))
    package var customer: String

    @Flag(help: "Erase the payloads; without it nothing is changed.")
    package var execute = false

    @OptionGroup package var dry: DryRunOption
    @OptionGroup(title: "For every command") package var common: CommonOptions

    package static let exitStatuses = CommandStatuses(
        [CommandStatuses.database],
        [
            .ok: "listed or erased", .empty: "no row and no finding has that customer_id",
            .busy:
                "a run is active, or a program that reads the database keeps the old pages on the "
                + "disk; run it again",
        ])

    package init() {}

    package func validate() throws { try dry.refuse(with: execute) }

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        guard execute else {
            let store = try Books(settings).openToRead(at: invocation.now())
            let found = try await store.evidence(ofCustomer: customer)
            try show(found, erasedNow: nil, settings, in: invocation)
            return found.subscriptions.isEmpty ? .empty : .ok
        }
        let holder = RunningUser.lockHolder(doing: "erasing evidence")
        let lock = try RunLock.acquire(
            forDatabaseAt: settings.databasePath, holder: holder, now: invocation.now(),
            waitMilliseconds: invocation.lockPatienceMilliseconds)
        let books = try Books(settings, holder: holder)
        defer { books.release() }
        try books.bringUpToDate(under: lock)
        let link =
            settings.company.mapping?.entitlements == nil
            ? nil
            : try CompanyConnection.link(settings.company, booksAt: settings.databasePath)
        let store = try books.openToWrite(company: link)
        let erased = try await store.eraseEvidence(ofCustomer: customer, at: invocation.now())
        try await store.eraseCompanyEntitlements(ofCustomer: customer, in: settings.identities)
        for remark in store.companyRemarks { invocation.say(remark) }
        let found = try await store.evidence(ofCustomer: customer)
        _ = consume lock
        try show(found, erasedNow: erased, settings, in: invocation)
        return found.subscriptions.isEmpty ? .empty : .ok
    }

    private func show(
        _ found: CustomerEvidence, erasedNow: Int?, _ settings: Settings,
        in invocation: Invocation
    ) throws {
        let standing = found.reportedBy.filter {
            ReportFolder.isPublished($0, in: settings.reportDirectory)
        }
        if common.json {
            return try invocation.show(
                CanonicalJSON.object([
                    "customer_id": .string(customer),
                    "erased_before": .integer(Int64(found.erased - (erasedNow ?? 0))),
                    "erased_now": .integer(Int64(erasedNow ?? 0)),
                    "events": .integer(Int64(found.events)),
                    "kept": .integer(Int64(found.kept)),
                    "runs": .array(standing.map(CanonicalJSON.string)),
                    "subscriptions": .array(
                        found.subscriptions.map { .string($0.originalTransactionID) }),
                ]).rendered)
        }
        let rows = found.subscriptions.count
        guard rows > 0 else {
            return try invocation.show(
                "No row and no finding has the customer_id \(customer); nothing was erased.")
        }
        try invocation.show(
            "Customer \(customer): \(rows) \(rows == 1 ? "subscription" : "subscriptions"), "
                + "\(found.kept) signed payloads kept, \(found.erased) erased.")
        try invocation.show(
            erasedNow.map { "\($0) erased now; their digests stay as tombstones." }
                ?? "Nothing was erased. Add --execute to erase the payloads that are kept.")
        if found.events > 0 {
            try invocation.show("\(found.events) messages of events are kept as well.")
        }
        guard !standing.isEmpty else { return }
        try invocation.show(
            "Report folders are sealed and keep what they show. These of "
                + "\(settings.reportDirectory) still show payloads or rows of the customer; "
                + "delete them from the front of the chain when their time is over:")
        for run in standing { try invocation.show("  \(run)") }
    }
}
