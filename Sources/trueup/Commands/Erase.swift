package import ArgumentParser
import Reports
import SubscriptionStore
package import Subscriptions

/// `trueup erase`: takes one customer's signed payloads out of the database.
package struct Erase: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Erase one customer's signed payloads; without --execute only say which.",
        discussion: """
            Each erased payload leaves a tombstone, its digest: the ledger's chain of hashes still \
            holds, and it can be seen that there was something. Messages of events about the \
            customer go too, told or not, and so does what was imported of payments elsewhere. Rows, \
            findings and ledger entries stay, and so do report folders, which are sealed; those that \
            show something of the customer are named. What was erased does not come back, also not \
            inside another payload; but while a row of the customer stands in the table, Apple's \
            next answer about it is new evidence. Exit 75 says that somebody who reads the database \
            keeps the old pages on the disk: run it again then.
            """)

    @Argument(help: ArgumentHelp("The customer_id of the rows.", valueName: "customer"))
    package var customer: String

    @Flag(help: "Erase, instead of only saying what would be erased.")
    package var execute = false

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

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
        let store = try books.openToWrite()
        let erased = try await store.eraseEvidence(ofCustomer: customer, at: invocation.now())
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
            try invocation.show("\(found.events) messages of events are kept, too.")
        }
        guard !standing.isEmpty else { return }
        try invocation.show(
            "Report folders are sealed and keep what they show. These of "
                + "\(settings.reportDirectory) still show payloads or rows of the customer; "
                + "delete them from the front of the chain when their time is over:")
        for run in standing { try invocation.show("  \(run)") }
    }
}
