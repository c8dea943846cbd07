import PostgresDatabase
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// The leases of a run that writes to a database which several workers share, with its heartbeat.
struct WorkerLeases: Sendable {
    private let leases: AppLeases
    private let fences: [LeaseFence]

    /// Takes one lease for each app of the run; every transaction that writes then checks them.
    ///
    /// - Parameters:
    ///   - run: A run that only looks takes none.
    ///   - link: The company's database.
    ///   - session: With that database; `nil` where workers do not share it.
    ///   - holder: Who works, for whoever is refused.
    /// - Returns: `nil` where there is nothing to share.
    /// - Throws: `StoreError.busy` where another worker is at one of the apps.
    static func take(
        for run: PreparedRun, over link: CompanyLink?, _ session: SharedSession?, holder: String
    ) throws(StoreError) -> WorkerLeases? {
        guard run.job.mode == .apply, let company = link?.database as? PostgresCompany, let session
        else { return nil }
        let leases = AppLeases(
            session,
            books: try CompanyConnection.identity(ofBooksAt: run.settings.databasePath),
            holder: holder,
            place: RunningUser.host + ":"
                + FileSystemFacts.realPath(run.settings.databasePath))
        let fences = try leases.take(run.apps, job: run.header.job)
        company.hold(fences)
        return WorkerLeases(leases: leases, fences: fences)
    }

    /// Says every third of a lease's life that this worker is there, until the task is cancelled.
    ///
    /// What cannot be said is tried again; a lease that was lost meanwhile keeps the run from writing,
    /// whoever notices it first.
    func goOn() async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: .milliseconds(AppLeases.lifetimeMilliseconds / 3))
            } catch {
                return
            }
            _ = try? await offTheCooperativeThreads { try leases.renew(fences) }
        }
    }

    /// Gives the leases back; where that fails they end by themselves.
    func end() { try? leases.giveBack(fences) }
}
