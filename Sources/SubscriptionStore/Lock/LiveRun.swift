import Foundation
package import Subscriptions

/// The progress of a running job, for `status` in another terminal.
///
/// It is in a file next to the database and never in the database: a person who watches a job must
/// not take part in its transactions. A job that was killed leaves the file behind; so it counts
/// only together with the kernel's lock, whose note names the same holder and moment.
package struct LiveRun: Hashable, Sendable {
    package struct Wait: Hashable, Sendable {
        /// In a few words.
        package var reason: String
        /// When it ends, or is given up.
        package var until: Timestamp
        /// Since when an answer of a server is waited for, which ends it; `nil` where the end is
        /// known.
        package var since: Timestamp?

        package init(reason: String, until: Timestamp, since: Timestamp? = nil) {
            self.reason = reason
            self.until = until
            self.since = since
        }

        /// For people, to follow what the run does.
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

        /// The used part of the limit in whole percent, rounded down; above 100 after a lowered
        /// share.
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
    /// The orders that the job follows.
    package var pause: RunOrders.Order?
    package var throttle: RunOrders.Order?

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
    /// `nil` for anything else.
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
        pause = RunOrders.Order(pause: members["pause"])
        throttle = RunOrders.Order(throttle: members["throttle"])
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

    /// Replaces the progress; where that fails, `status` shows none, and the job continues.
    package func tell(_ run: LiveRun) { _ = file.replace(with: run.json.rendered + "\n") }

    package func remove() { file.remove() }

    /// The progress of the job that holds the lock.
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

/// A small file next to the database, for its owner alone, that is replaced as a whole.
///
/// Such files carry words between the running job and commands that speak of it. Nothing depends on
/// them after a crash, so they are not forced to the disk.
struct RunFile: Sendable {
    /// More than this is not read.
    private static let maximumBytes = 1 << 16
    private static let mode: mode_t = 0o600

    let path: String

    /// - Parameters:
    ///   - database: The database's path; a symbolic link leads to the same file.
    ///   - suffix: What is appended to its name.
    init(besideDatabaseAt database: String, suffix: String) {
        path = URL(fileURLWithPath: database).resolvingSymlinksInPath().path + suffix
    }

    /// Replaces the file.
    ///
    /// - Parameter text: All of the new contents.
    /// - Returns: Why it could not be written; `nil` when it was.
    func replace(with text: String) -> String? {
        let draft = "\(path).\(getpid())"
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe Glibc.open(draft, flags, Self.mode)
        guard descriptor >= 0 else { return Self.reason() }
        giveToOwnerOfFolder(descriptor)
        let bytes = Array(text.utf8)
        let written = unsafe bytes.withUnsafeBytes { buffer in
            unsafe write(descriptor, buffer.baseAddress, buffer.count)
        }
        var reason = written == bytes.count ? nil : Self.reason()
        close(descriptor)
        if reason == nil, unsafe rename(draft, path) != 0 { reason = Self.reason() }
        if reason != nil { _ = unsafe unlink(draft) }
        return reason
    }

    /// The content of the file; `nil` where there is none, or another user could have written it.
    var text: String? {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_mode & 0o077 == 0,
            geteuid() == 0 || status.st_uid == geteuid() || status.st_uid == 0
        else { return nil }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.maximumBytes) {
            buffer, count in
            count = unsafe max(0, read(descriptor, buffer.baseAddress, buffer.count))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The members of the JSON object that the file holds.
    var members: [String: Any]? {
        guard let text else { return nil }
        let object = try? JSONSerialization.jsonObject(with: Data(text.utf8))
        return object as? [String: Any]
    }

    func remove() { _ = unsafe unlink(path) }

    /// Makes a file that root wrote readable for the job, which belongs to the database's owner.
    private func giveToOwnerOfFolder(_ descriptor: Int32) {
        guard geteuid() == 0 else { return }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var status = stat()
        guard unsafe stat(folder, &status) == 0 else { return }
        _ = fchown(descriptor, status.st_uid, status.st_gid)
    }

    private static func reason() -> String { unsafe String(cString: strerror(errno)) }
}

/// The orders that people give a running job: to pause its calls, or to make fewer.
///
/// Orders are for one process of one run alone. What a killed run was ordered is nothing to the
/// next one, which must not stand still for it.
package struct RunOrders: Hashable, Sendable {
    package struct Order: Hashable, Sendable {
        /// For each endpoint, above zero; `nil` for a pause.
        package var requestsPerSecond: Double?
        package var since: Timestamp
        package var by: String

        package init(requestsPerSecond: Double? = nil, since: Timestamp, by: String) {
            self.requestsPerSecond = requestsPerSecond
            self.since = since
            self.by = by
        }
    }

    package let runID: String
    package let process: Int32
    package var pause: Order?
    package var throttle: Order?

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

extension RunOrders.Order {
    package var json: CanonicalJSON {
        var members: [String: CanonicalJSON] = ["since": .time(since), "by": .string(by)]
        members["requests_per_second"] = requestsPerSecond.map { .string(String($0)) }
        return .object(members)
    }

    init?(pause value: Any?) {
        guard let members = value as? [String: Any],
            let since = (members["since"] as? String).flatMap({ Timestamp(rfc3339: $0) }),
            let by = members["by"] as? String
        else { return nil }
        self.init(since: since, by: by)
    }

    init?(throttle value: Any?) {
        guard let order = Self(pause: value), let members = value as? [String: Any],
            let rate = (members["requests_per_second"] as? String).flatMap({ Double($0) }),
            rate > 0, rate.isFinite
        else { return nil }
        self.init(requestsPerSecond: rate, since: order.since, by: order.by)
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
        orders.pause = RunOrders.Order(pause: members["pause"])
        orders.throttle = RunOrders.Order(throttle: members["throttle"])
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
