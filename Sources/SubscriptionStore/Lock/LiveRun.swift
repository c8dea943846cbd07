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
        package var until: Timestamp

        package init(reason: String, until: Timestamp) {
            self.reason = reason
            self.until = until
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
                .object(["reason": .string($0.reason), "until": .time($0.until)])
            } ?? .null,
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
            self.wait = Wait(reason: reason, until: until)
        }
    }

    private static func time(_ value: Any?) -> Timestamp? {
        (value as? String).flatMap { Timestamp(rfc3339: $0) }
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
