package import Subscriptions

/// Which worker works on which app, in a table of the company's database.
///
/// A lease is for one app and one job, and lasts as long as its holder says so again and again.
/// Every holder has a higher number than the one before; a transaction that writes rows holds the
/// lease under its number, so a worker that comes back from a long pause finds that it may write no
/// more. Times are the server's: clocks of workers do not count.
package protocol LeaseTable: Sendable {
    /// Takes the leases of a job on some apps: all, or none.
    ///
    /// - Parameters:
    ///   - apps: Each once.
    ///   - job: Its name.
    /// - Returns: One fence for each app.
    /// - Throws: `StoreError.busy`, naming the holder, where one of them is held.
    func take(_ apps: [AppIdentity], job: String) throws(StoreError) -> [LeaseFence]

    /// Says that the holder is still at work.
    ///
    /// - Parameter fences: What it holds.
    /// - Returns: Those that another has adopted meanwhile.
    /// - Throws: `StoreError` when it cannot be said.
    func renew(_ fences: [LeaseFence]) throws(StoreError) -> [LeaseFence]

    /// Gives leases back, so that the next worker need not wait for their end.
    ///
    /// - Parameter fences: What is held; what another has adopted stays with it.
    /// - Throws: `StoreError` when it cannot be said; then they end by themselves.
    func giveBack(_ fences: [LeaseFence]) throws(StoreError)
}

/// A company's database that several workers may correct.
package protocol LeasedCompany: Sendable {
    /// Lets every transaction that writes from now on hold these leases: one for each app of the run.
    func hold(_ fences: [LeaseFence])
}

/// The worker that asks for leases.
package struct LeaseHolder: Hashable, Sendable {
    /// The identity of the worker's books: only one run at a time works with them, so a lease that
    /// they hold already is that of a run that died.
    package var books: String
    /// Who works, for a caller that is refused.
    package var name: String
    /// Machine and file of the books: a run that has them elsewhere has a copy of them.
    package var place: String
    /// How long a worker may not be heard of.
    package var lifetimeMilliseconds: Int64

    package init(
        books: String, name: String, place: String,
        lifetimeMilliseconds: Int64 = LeaseFence.lifetimeMilliseconds
    ) {
        self.books = books
        self.name = name
        self.place = place
        self.lifetimeMilliseconds = lifetimeMilliseconds
    }

    /// The refusal where another run works with a copy of the books.
    ///
    /// - Parameters:
    ///   - other: The other run's holder.
    ///   - place: Where that one has its books.
    ///   - since: When it began.
    /// - Returns: The words of the failure.
    package func refusal(ofCopyBy other: String?, at place: String, since: String?) -> String {
        "\(other ?? "a run") uses trueup's database at \(place) since \(since ?? "just now"), and the "
            + "one at \(self.place) is a copy of it. Each worker needs a database of its own: if both "
            + "are workers, name a new file in `store.books` of one, and run `trueup init` there"
    }
}

/// A lease as its holder knows it: the work of one job on one app, with the number that fences it.
package struct LeaseFence: Hashable, Sendable {
    package var app: AppIdentity
    package var job: String
    /// Rises with every holder; a worker with a smaller one may write no more.
    package var number: Int64

    package init(app: AppIdentity, job: String, number: Int64) {
        self.app = app
        self.job = job
        self.number = number
    }

    /// Longer than a fail-over, shorter than people wait for a dead worker.
    package static let lifetimeMilliseconds: Int64 = 90_000

    package var description: String { Self.description(of: app) }

    private static func description(of app: AppIdentity) -> String {
        "\(app.bundleID) (\(app.environment.rawValue))"
    }

    /// The refusal where another worker holds the lease of an app.
    ///
    /// - Parameters:
    ///   - app: The app.
    ///   - holder: Who holds it.
    ///   - since: Since when.
    /// - Returns: The words of the failure.
    package static func refusal(
        of app: AppIdentity, heldBy holder: String?, since: String?
    ) -> String {
        "\(description(of: app)) is held by \(holder ?? "another worker") since "
            + (since ?? "just now")
    }
}
