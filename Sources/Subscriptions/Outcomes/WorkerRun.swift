/// A run as all workers on a company's database see it.
package struct WorkerRun: Hashable, Sendable {
    /// The identity of the worker's books: a run is named once in them.
    package var books: String
    /// Who works, as `user@host`.
    package var worker: String
    /// The apps that it is for, as `--app` takes them.
    package var apps: [String]
    package var listing: RunListing
    /// The first line of its summary; `nil` while it runs, or when it was killed.
    package var headline: String?
    /// Its report folder, on the worker's disk; `nil` before it stands.
    package var report: String?
    /// What it came to; `nil` while it runs, or when it was killed.
    package var figures: RunSums?

    package init(
        books: String, worker: String, apps: [String], listing: RunListing,
        headline: String? = nil, report: String? = nil, figures: RunSums? = nil
    ) {
        self.books = books
        self.worker = worker
        self.apps = apps
        self.listing = listing
        self.headline = headline
        self.report = report
        self.figures = figures
    }
}

/// What a run came to, in numbers that can be added to those of others.
package struct RunSums: Hashable, Sendable {
    package var corrected: Int
    package var open: Int
    package var new: Int
    package var money: [MoneyTotal]

    package init(corrected: Int, open: Int, new: Int, money: [MoneyTotal]) {
        self.corrected = corrected
        self.open = open
        self.new = new
        self.money = money
    }
}
