import Foundation
package import Subscriptions

/// What people have asked of a job while it runs: to stop asking for a while, or to ask less.
///
/// Orders are for one process of one run alone. What a killed run was ordered is nothing to the next
/// one, which must not stand still for it.
package struct RunOrders: Hashable, Sendable {
    package struct Pause: Hashable, Sendable {
        package var since: Timestamp
        package var by: String

        package init(since: Timestamp, by: String) {
            self.since = since
            self.by = by
        }
    }

    package struct Throttle: Hashable, Sendable {
        /// For each endpoint; above zero.
        package var requestsPerSecond: Double
        package var since: Timestamp
        package var by: String

        package init(requestsPerSecond: Double, since: Timestamp, by: String) {
            self.requestsPerSecond = requestsPerSecond
            self.since = since
            self.by = by
        }
    }

    package let runID: String
    package let process: Int32
    package var pause: Pause?
    package var throttle: Throttle?

    /// No orders yet.
    package init(runID: String, process: Int32) {
        self.runID = runID
        self.process = process
    }

    package var json: CanonicalJSON {
        .object([
            "run_id": .string(runID), "process": .integer(Int64(process)),
            "pause": pause?.json ?? .null, "throttle": throttle?.json ?? .null,
        ])
    }
}

extension RunOrders.Pause {
    package var json: CanonicalJSON { .object(["since": .time(since), "by": .string(by)]) }

    init?(_ value: Any?) {
        guard let members = value as? [String: Any],
            let since = (members["since"] as? String).flatMap({ Timestamp(rfc3339: $0) }),
            let by = members["by"] as? String
        else { return nil }
        self.init(since: since, by: by)
    }
}

extension RunOrders.Throttle {
    package var json: CanonicalJSON {
        .object([
            "since": .time(since), "by": .string(by),
            "requests_per_second": .string(String(requestsPerSecond)),
        ])
    }

    init?(_ value: Any?) {
        guard let pause = RunOrders.Pause(value), let members = value as? [String: Any],
            let rate = (members["requests_per_second"] as? String).flatMap({ Double($0) }),
            rate > 0, rate.isFinite
        else { return nil }
        self.init(requestsPerSecond: rate, since: pause.since, by: pause.by)
    }
}

/// The file in which a running job finds its orders; for its user alone.
package struct RunOrdersFile: Sendable {
    private let file: RunFile

    /// - Parameter database: The database's path.
    package init(besideDatabaseAt database: String) {
        file = RunFile(besideDatabaseAt: database, suffix: "-orders")
    }

    /// The orders of one process of one run; none where the file is meant for any other.
    package func read(forRun runID: String, process: Int32) -> RunOrders {
        var orders = RunOrders(runID: runID, process: process)
        guard let members = file.members, members["run_id"] as? String == runID,
            members["process"] as? Int == Int(process)
        else { return orders }
        orders.pause = RunOrders.Pause(members["pause"])
        orders.throttle = RunOrders.Throttle(members["throttle"])
        return orders
    }

    /// Replaces all orders.
    ///
    /// - Parameter orders: Those that hold from now on.
    /// - Returns: Why they could not be written; `nil` when they were.
    package func give(_ orders: RunOrders) -> String? {
        file.replace(with: orders.json.rendered + "\n")
    }

    package func remove() { file.remove() }
}
