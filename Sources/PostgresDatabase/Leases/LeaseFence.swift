package import Subscriptions

/// A lease as its holder knows it: the work of one job on one app, with the number that fences it.
package struct LeaseFence: Hashable, Sendable {
    package var app: AppIdentity
    package var job: String
    /// Rises with every holder; whoever has a smaller one may write no more.
    package var number: Int64

    package init(app: AppIdentity, job: String, number: Int64) {
        self.app = app
        self.job = job
        self.number = number
    }

    /// Whether the lease still stands under this number; if so, nobody takes it before the
    /// transaction ends.
    func isHeld(in session: any ServerSession) throws(ServerFailure) -> Bool {
        try session.run(
            """
            SELECT 1 FROM trueup.leases
            WHERE bundle_id = $1 AND environment = $2 AND job = $3 AND fence = $4 FOR SHARE
            """, [app.bundleID, app.environment.rawValue, job, String(number)]
        ).rows.count == 1
    }

    var description: String { "\(app.bundleID) (\(app.environment.rawValue))" }
}
