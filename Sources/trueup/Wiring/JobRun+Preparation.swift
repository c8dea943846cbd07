import FoundationEssentials
import Reconciliation
import ReconciliationRun
import Subscriptions

/// Turns settings and arguments into the values that a run works with.
extension JobRun {
    func reconciliationJob(
        _ job: JobSettings, mode: RunMode, settings: Settings
    ) throws -> ReconciliationJob {
        var policy = Policy(job, now: invocation.now(), apps: settings.identities)
        policy.onlyKinds = try options.onlyKinds()
        var prepared = ReconciliationJob(
            name: job.name,
            steps: job.steps.map { step in
                switch step {
                case .recover: .recover
                case .walk: .walk
                }
            },
            mode: mode, failOn: job.failOn.severity,
            maxDurationMilliseconds: job.maxDurationMilliseconds, policy: policy,
            guards: job.guards,
            recover: RecoverSettings(job.recover),
            narrowing: Narrowing(
                ids: try options.idsFile.map(Self.ids), limit: options.limit,
                shard: options.shard?.shard))
        prepared.liftedGuards = try guards?.liftedGuards() ?? [:]
        prepared.canary = guards?.canary
        return prepared
    }

    /// The clock of the run: the wall clock, or one that started at `--now`.
    func runClock(settings: Settings, job: ReconciliationJob) throws -> RunClock {
        let deadline = ContinuousClock.now + .milliseconds(job.maxDurationMilliseconds)
        guard let rehearsed = options.now?.timestamp else {
            return RunClock(now: invocation.now, deadline: deadline)
        }
        return RunClock(
            now: try RehearsalClock.starting(at: rehearsed, settings: settings),
            deadline: deadline)
    }

    func runHeader(
        _ settings: Settings, _ job: JobSettings, mode: RunMode, started: Timestamp
    ) -> RunHeader {
        let narrowing = options.narrowingInWords
        var header = RunHeader(
            runID: RunName.make(started: started), job: job.name, mode: mode, started: started,
            apps: settings.identities, actor: RunningUser.actor,
            toolVersion: ToolVersion.current,
            settingsDigest: SettingsDigest.of(settings, job, mode: mode, narrowing: narrowing),
            narrowing: narrowing, notFoundConfirmations: job.notFoundConfirmations)
        header.coversEveryRow = job.steps.contains(.walk)
        header.jobFile = SettingsPath.resolve(
            job.file, from: FileManager.default.currentDirectoryPath)
        header.guards = job.guards.text
        return header
    }

    /// The ids of `--ids-file`: one a line; empty lines and the space around an id do not count.
    private static func ids(ofFileAt path: String) throws -> Set<String> {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.data, "\(path): cannot be read; nothing was asked")
        }
        var ids: Set<String> = []
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let text = String(decoding: line, as: UTF8.self)
                .filter { $0 != " " && $0 != "\t" && $0 != "\r" }
            guard !text.isEmpty else { continue }
            guard TransactionID(text) != nil else {
                throw CommandFailure(
                    .data, "\(path):\(index + 1): not a transaction id; nothing was asked")
            }
            ids.insert(text)
        }
        return ids
    }
}

extension Policy {
    /// What a job's judgements depend on; of every kind, as long as nothing narrows it.
    init(_ job: JobSettings, now: Timestamp, apps: [AppIdentity]) {
        self.init(
            now: now, apps: apps, settleMilliseconds: job.settleMilliseconds,
            notFoundConfirmations: job.notFoundConfirmations, history: job.history,
            reportOnlyFields: job.reportOnlyFields)
    }
}

extension RecoverSettings {
    init(_ settings: JobSettings.Recovery) {
        self.init(
            overlapMilliseconds: settings.overlapMilliseconds,
            lookbackMilliseconds: settings.lookbackMilliseconds,
            inboxIsKept: settings.inbox == .imported)
    }
}

extension Sequence where Element: Hashable {
    /// The elements in order, each once.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
