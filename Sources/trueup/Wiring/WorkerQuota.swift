import AppStoreServerAPI
import PostgresDatabase
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// The books of an app's quota where several workers share a database: their calls count together.
///
/// Calls are booked there first, and in the worker's own books, too, which know the calls of commands
/// that may not write there.
struct WorkerQuota: QuotaBook {
    let own: SharedQuota
    let shared: SharedCalls
    /// Where the busiest hour of all workers is noted.
    let peaks: QuotaPeaks

    func book(
        _ wanted: Int, of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) async throws(QuotaBookFailure) -> QuotaGrant {
        let all = try await bookShared(wanted, of: endpoint, givingBack: unused)
        guard all.calls > 0 else {
            if let unused { await own.giveBack(unused, of: endpoint) }
            return all
        }
        let grant: QuotaGrant
        do throws(QuotaBookFailure) {
            grant = try await own.book(all.calls, of: endpoint, givingBack: unused)
        } catch {
            await giveBackShared(all, of: endpoint)
            throw error
        }
        var granted = all
        granted.calls = min(all.calls, grant.calls)
        if granted.calls < all.calls {
            var rest = all
            rest.calls = all.calls - granted.calls
            await giveBackShared(rest, of: endpoint)
        }
        guard granted.calls > 0 else { return grant }
        peaks.note(granted, of: endpoint, about: own.app)
        return granted
    }

    func giveBack(_ unused: QuotaGrant, of endpoint: Endpoint) async {
        await giveBackShared(unused, of: endpoint)
        await own.giveBack(unused, of: endpoint)
    }

    /// A 429 holds for all workers at once, and in this worker's books for its next command.
    func keep(_ refusal: QuotaRefusal, of endpoint: Endpoint) async {
        try? await offTheCooperativeThreads {
            try shared.keep(refusal, of: own.account(endpoint), at: own.now())
        }
        await own.keep(refusal, of: endpoint)
    }

    private func bookShared(
        _ wanted: Int, of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) async throws(QuotaBookFailure) -> QuotaGrant {
        let limit = own.rates.perHour(of: endpoint)
        do {
            return try await offTheCooperativeThreads {
                try shared.book(
                    wanted, of: own.account(endpoint), limit: limit, givingBack: unused,
                    at: own.now())
            }
        } catch {
            guard let error = error as? StoreError else { throw QuotaBookFailure("\(error)") }
            throw QuotaBookFailure(endingWith: error)
        }
    }

    private func giveBackShared(_ unused: QuotaGrant, of endpoint: Endpoint) async {
        try? await offTheCooperativeThreads {
            try shared.giveBack(unused, of: own.account(endpoint))
        }
    }
}

/// Opens the calls that all workers on a company's database share.
struct WorkerCalls {
    /// `nil` where nobody else shares the quota through a database.
    var shared: SharedCalls?
    /// What the report says where they are not shared although there is such a database.
    var remark: String?

    /// Nobody shares them.
    init() {}

    /// - Parameter run: One that asks Apple; only PostgreSQL is shared by workers.
    /// - Throws: `StoreError` where the table cannot be made or the server not reached.
    init(for run: PreparedRun) throws(StoreError) {
        guard !run.askedApps.isEmpty, run.settings.company.table != nil,
            case .postgresql(let address) = run.settings.company.source
        else { return }
        let calls = SharedCalls(try .libpq(address))
        if run.job.mode == .apply {
            try calls.prepare()
        } else if try !calls.mayBeUsed() {
            // A run that only looks makes nothing in a company's database.
            remark =
                "The calls of this check are counted in its own books alone: \(address) has no tables "
                + "trueup.calls and trueup.refusals that it may write. The first job that writes "
                + "makes them."
            return
        }
        shared = calls
    }
}
