import Foundation
package import Subscriptions

/// What a job that is running tells of itself, for `status` in another terminal.
///
/// It stands in a file beside the database and never in the database: whoever watches a job must not
/// take part in its transactions. A job that was killed leaves the file behind; so it counts only
/// together with the kernel's lock, whose note names the same holder and moment.
package struct LiveRun: Hashable, Sendable {
    package struct Wait: Hashable, Sendable {
        /// In a few words.
        package var reason: String
        /// When it ends, or is given up.
        package var until: Timestamp
        /// Since when an answer of a server is waited for, which ends it; `nil` where the end is known.
        package var since: Timestamp?

        package init(reason: String, until: Timestamp, since: Timestamp? = nil) {
            self.reason = reason
            self.until = until
            self.since = since
        }

        /// For people, to stand behind what the run does.
        package var sentence: String {
            let span = since.map { "since \($0.rfc3339)" } ?? "until \(until.rfc3339)"
            return "waiting \(span) for \(reason)"
        }
    }

    /// The calls of the hour that ends now, by every process on the database.
    package struct QuotaUse: Hashable, Sendable {
        package var app: AppIdentity
        package var endpoint: String
        package var calls: Int
        /// The calls that any hour may have, by the share that the job may use.
        package var limit: Int

        package init(app: AppIdentity, endpoint: String, calls: Int, limit: Int) {
            self.app = app
            self.endpoint = endpoint
            self.calls = calls
            self.limit = limit
        }

        /// The used part of the limit in whole percent, rounded down; above 100 after a lowered share.
        package var percent: Int {
            guard limit > 0, calls > 0 else { return 0 }
            return Int(min(1e9, Double(calls) / Double(limit) * 100))
        }
    }

    /// As the note of the lock has them.
    package var holder: String
    package var since: Timestamp
    package var process: Int32
    package var runID: String
    package var job: String
    /// When it told this.
    package var writtenAt: Timestamp
    /// The progress as the job's own terminal shows it.
    package var sentence: String?
    package var stage: String?
    package var done: Int?
    package var total: Int?
    package var donePerMinute: Int?
    package var secondsLeft: Int?
    package var wait: Wait?
    package var quota: [QuotaUse] = []
    /// What the job was ordered to do, and does.
    package var pause: RunOrders.Pause?
    package var throttle: RunOrders.Throttle?

    package init(
        holder: String, since: Timestamp, process: Int32, runID: String, job: String,
        writtenAt: Timestamp
    ) {
        self.holder = holder
        self.since = since
        self.process = process
        self.runID = runID
        self.job = job
        self.writtenAt = writtenAt
    }

    /// As the file holds it, and `status --json` shows it.
    package var json: CanonicalJSON {
        .object([
            "holder": .string(holder), "since": .time(since), "process": .integer(Int64(process)),
            "run_id": .string(runID), "job": .string(job), "written_at": .time(writtenAt),
            "progress": .text(sentence), "stage": .text(stage), "done": Self.count(done),
            "total": Self.count(total), "done_per_minute": Self.count(donePerMinute),
            "seconds_left": Self.count(secondsLeft),
            "wait": wait.map {
                .object([
                    "reason": .string($0.reason), "until": .time($0.until),
                    "since": .time($0.since),
                ])
            } ?? .null,
            "quota": .array(quota.map(\.json)), "pause": pause?.json ?? .null,
            "throttle": throttle?.json ?? .null,
        ])
    }

    private static func count(_ number: Int?) -> CanonicalJSON {
        number.map { .integer(Int64($0)) } ?? .null
    }
}

extension LiveRun {
    /// `nil` for what is no such object.
    init?(members: [String: Any]) {
        guard let holder = members["holder"] as? String, let since = Self.time(members["since"]),
            let process = members["process"] as? Int, let runID = members["run_id"] as? String,
            let job = members["job"] as? String, let written = Self.time(members["written_at"])
        else { return nil }
        self.init(
            holder: holder, since: since, process: Int32(clamping: process), runID: runID,
            job: job, writtenAt: written)
        sentence = members["progress"] as? String
        stage = members["stage"] as? String
        done = members["done"] as? Int
        total = members["total"] as? Int
        donePerMinute = members["done_per_minute"] as? Int
        secondsLeft = members["seconds_left"] as? Int
        if let wait = members["wait"] as? [String: Any], let reason = wait["reason"] as? String,
            let until = Self.time(wait["until"])
        {
            self.wait = Wait(reason: reason, until: until, since: Self.time(wait["since"]))
        }
        let quota = members["quota"] as? [[String: Any]] ?? []
        self.quota = quota.compactMap(QuotaUse.init(members:))
        pause = RunOrders.Pause(members["pause"])
        throttle = RunOrders.Throttle(members["throttle"])
    }

    private static func time(_ value: Any?) -> Timestamp? {
        (value as? String).flatMap { Timestamp(rfc3339: $0) }
    }
}

extension LiveRun.QuotaUse {
    var json: CanonicalJSON {
        .object([
            "app": .string(app.bundleID), "environment": .string(app.environment.rawValue),
            "endpoint": .string(endpoint), "calls": .integer(Int64(calls)),
            "limit": .integer(Int64(limit)), "percent": .integer(Int64(percent)),
        ])
    }

    init?(members: [String: Any]) {
        guard let bundleID = members["app"] as? String,
            let environment = (members["environment"] as? String)
                .flatMap(AppStoreEnvironment.init(rawValue:)),
            let endpoint = members["endpoint"] as? String, let calls = members["calls"] as? Int,
            let limit = members["limit"] as? Int
        else { return nil }
        self.init(
            app: AppIdentity(bundleID: bundleID, environment: environment), endpoint: endpoint,
            calls: calls, limit: limit)
    }
}

/// The file in which a job tells how far it is.
package struct LiveRunFile: Sendable {
    private let file: RunFile

    /// - Parameter database: The database's path.
    package init(besideDatabaseAt database: String) {
        file = RunFile(besideDatabaseAt: database, suffix: "-progress")
    }

    /// Replaces what was told; where that fails nobody is told, and the job goes on.
    package func tell(_ run: LiveRun) { _ = file.replace(with: run.json.rendered + "\n") }

    package func remove() { file.remove() }

    /// What the job that holds the lock tells of itself.
    ///
    /// - Parameter lock: Who holds it, as the lock says; words of any other run are left by a kill.
    /// - Returns: `nil` where the holder has told nothing.
    package func read(heldBy lock: (holder: String, since: Timestamp?)) -> LiveRun? {
        guard let run = file.members.flatMap(LiveRun.init(members:)), run.holder == lock.holder,
            run.since == lock.since
        else { return nil }
        return run
    }
}
