import AppStoreServerAPI
import Dispatch
import Glibc
import Logging
import ReconciliationRun
import ServerConnections
package import SubscriptionStore
package import Subscriptions
import Synchronization

/// Takes the orders that people give a running job, and says so in its terminal and its log.
///
/// It looks for orders when it is told to, once a second; the pace of the calls asks it before
/// each.
final class RunControl: Sendable {
    private let file: RunOrdersFile
    private let terminal: ProgressLine
    private let logger: Logger
    /// How to continue, as it is typed.
    private let resumption: String
    private let now: @Sendable () -> Timestamp
    private let state: Mutex<(orders: RunOrders, history: OrderHistory)>

    /// - Parameters:
    ///   - file: Where orders are given; what is left there by an earlier run is taken away.
    ///   - run: Who takes them.
    ///   - resumption: The command that ends a pause.
    ///   - terminal: Where a person sees it.
    ///   - logger: The run's log.
    ///   - now: The wall clock.
    init(
        file: RunOrdersFile, run: LiveRun, resumption: String, terminal: ProgressLine,
        logger: Logger, now: @escaping @Sendable () -> Timestamp
    ) {
        self.file = file
        self.resumption = resumption
        self.terminal = terminal
        self.logger = logger
        self.now = now
        state = Mutex((RunOrders(runID: run.runID, process: run.process), OrderHistory()))
        file.remove()
    }

    var orders: RunOrders { state.withLock(\.orders) }

    /// The orders so far, for the run's report.
    var remarks: [String] {
        state.withLock { $0.history.sentences(stillHolding: $0.orders) }
    }

    /// As the calls are paced by them.
    var paceOrder: PaceOrder {
        state.withLock {
            PaceOrder(
                isPaused: $0.orders.pause != nil,
                requestsPerSecond: $0.orders.throttle?.requestsPerSecond)
        }
    }

    /// Reads the orders again.
    func look() {
        let before = orders
        change(to: file.read(forRun: before.runID, process: before.process))
    }

    /// No more calls are made: what still holds ends, and the log says so.
    func callsEnded() {
        let before = orders
        for order in [before.pause, before.throttle] { logEnd(of: order) }
    }

    /// No order holds any longer.
    func end() { file.remove() }

    private func change(to orders: RunOrders) {
        let end = now()
        let before = state.withLock { state in
            let before = state.orders
            for kind in [\RunOrders.pause, \.throttle] {
                guard let order = before[keyPath: kind], orders[keyPath: kind] != order
                else { continue }
                state.history.add(order, until: end)
            }
            state.orders = orders
            return before
        }
        guard orders != before else { return }
        terminal.note(orders)
        if orders.pause != before.pause {
            tell(orders.pause, after: before.pause, end: "the run continues")
        }
        if orders.throttle != before.throttle {
            tell(orders.throttle, after: before.throttle, end: "no longer throttled")
        }
    }

    private func logEnd(of order: RunOrders.Order?) {
        guard let order else { return }
        logger.notice("\(order.kind).ended", metadata: order.metadata)
    }

    private func tell(
        _ order: RunOrders.Order?, after before: RunOrders.Order?, end: String
    ) {
        logEnd(of: before)
        guard let order else { return terminal.say(end) }
        logger.notice("\(order.kind).begun", metadata: order.metadata)
        let isPause = order.requestsPerSecond == nil
        terminal.say(order.sentence + (isPause ? ". To continue it: \(resumption)" : ""))
    }
}

extension RunOrders.Order {
    package var sentence: String {
        let order = requestsPerSecond.map { "throttled to \($0) requests a second" } ?? "paused"
        return "\(order) since \(since.rfc3339) by \(PlainText.of(by))"
    }

    /// As events of the log begin.
    fileprivate var kind: String { requestsPerSecond == nil ? "pause" : "throttle" }

    fileprivate var metadata: Logger.Metadata {
        var members: Logger.Metadata = ["by": "\(by)", "since": "\(since.rfc3339)"]
        members["requests_per_second"] = requestsPerSecond.map { "\($0)" }
        return members
    }
}

/// Looks once a second at what people order, and tells other terminals how far the running job is.
///
/// Both go through files next to the database.
final class RunWatch: Sendable {
    private static let interval = Duration.seconds(1)
    /// Between two looks at the books.
    private static let intervalOfQuotas = Duration.seconds(5)

    private let file: LiveRunFile
    private let run: LiveRun
    private let control: RunControl
    private let terminal: ProgressLine
    private let now: @Sendable () -> Timestamp
    /// Returns the used part of the hour's quota; empty where it is not known.
    private let quota: @Sendable () async -> [LiveRun.QuotaUse]
    private let state = Mutex((isReporting: false, hasEnded: false))

    /// - Parameters:
    ///   - database: The database's path.
    ///   - run: Who the job is; what it tells is added.
    ///   - control: What takes its orders.
    ///   - terminal: What is known of its progress.
    ///   - now: The wall clock.
    ///   - quota: Reads what is used of the hour.
    init(
        database: String, run: LiveRun, control: RunControl, terminal: ProgressLine,
        now: @escaping @Sendable () -> Timestamp,
        quota: @escaping @Sendable () async -> [LiveRun.QuotaUse]
    ) {
        file = LiveRunFile(besideDatabaseAt: database)
        self.run = run
        self.control = control
        self.terminal = terminal
        self.now = now
        self.quota = quota
    }

    /// Tells until the task is cancelled.
    func watchUntilCancelled() async {
        // Next to it: where the books are on a server, that may not answer.
        async let quotas: Void = noteQuotas()
        while !Task.isCancelled {
            control.look()
            tell()
            try? await Task.sleep(for: Self.interval)
        }
        await quotas
    }

    private func noteQuotas() async {
        while !Task.isCancelled {
            terminal.note(await quota())
            try? await Task.sleep(for: Self.intervalOfQuotas)
        }
    }

    /// From now on the report is written, and nothing else is done.
    func reportBegins() {
        state.withLock { $0.isReporting = true }
    }

    /// Removes the files; nothing is reported afterwards.
    func end() {
        state.withLock { state in
            guard !state.hasEnded else { return }
            state.hasEnded = true
            file.remove()
            control.end()
        }
    }

    private func tell() {
        let standing = terminal.standing
        // Under the lock, so that no late word comes back after the file was taken away.
        state.withLock { state in
            guard !state.hasEnded else { return }
            file.tell(
                state.isReporting && standing.progress?.stage != .report
                    ? run.reporting(at: now()) : run.standing(standing, at: now()))
        }
    }
}

extension LiveRun {
    /// - Parameters:
    ///   - standing: How far the run is.
    ///   - now: The present.
    /// - Returns: The same run with that.
    package func standing(_ standing: RunStanding, at now: Timestamp) -> LiveRun {
        var run = self
        run.writtenAt = now
        run.sentence = standing.sentence
        run.stage = standing.progress?.stage.rawValue
        run.done = standing.progress?.done
        run.total = standing.progress?.total
        run.donePerMinute = standing.perSecond.map { Int(min(1e15, $0 * 60)) }
        run.secondsLeft = standing.millisecondsLeft.map { Int($0 / 1000) }
        run.quota = standing.quota
        run.pause = standing.pause
        run.throttle = standing.throttle
        run.wait = standing.wait
        return run
    }

    fileprivate func reporting(at now: Timestamp) -> LiveRun {
        var run = self
        run.writtenAt = now
        run.stage = "report"
        run.sentence = "writing the report"
        return run
    }
}

/// The run of a job that is active now, for commands that order it to do something.
struct RunningJob {
    let live: LiveRun
    private let file: RunOrdersFile

    /// - Parameters:
    ///   - name: The job, as it was started.
    ///   - settings: Where its database is.
    /// - Throws: 5 where no run of it is active, 75 where a run does not say yet of which job it
    ///   is.
    init(named name: String, settings: Settings) throws {
        let database = settings.databasePath
        guard let lock = SQLiteStore.lockHolder(ofDatabaseAt: database) else {
            throw CommandFailure(
                .empty,
                "No job is running on \(database), as far as the user \(RunningUser.actor) can see. "
                    + "Nothing was changed. Give the command as the user that the job runs as, or as root."
            )
        }
        guard let live = LiveRunFile(besideDatabaseAt: database).read(heldBy: lock) else {
            throw CommandFailure(
                .busy,
                "\(lock.holder) holds the lock and has not recorded yet which job it runs. Nothing was "
                    + "changed. Try again in some seconds.")
        }
        guard live.job == SettingsPath.stem(of: name) || live.job == name else {
            throw CommandFailure(
                .empty,
                "No run of \(name) is active. The active run is one of \(live.job) (\(live.runID)). "
                    + "Nothing was changed.")
        }
        self.live = live
        file = RunOrdersFile(besideDatabaseAt: database)
    }

    /// The orders that it has been given so far.
    var orders: RunOrders { file.read(forRun: live.runID, process: live.process) }

    /// - Parameter orders: What it is ordered from now on.
    /// - Throws: 74 where that cannot be written.
    func give(_ orders: RunOrders) throws {
        if let reason = file.give(orders) {
            throw CommandFailure(
                .output,
                "The order could not be written next to the database: \(reason). Nothing was changed. "
                    + "Give the command as the user that the job runs as, or as root.")
        }
    }

    /// For people: `nightly (20261120T031704Z-7f3c9a, process 17)`.
    var name: String { "\(live.job) (\(live.runID), process \(live.process))" }
}

extension CommonOptions {
    /// A command of this program that acts on the same settings, as it is typed.
    ///
    /// - Parameter words: Without the program's name.
    /// - Returns: One line, quoted for a shell.
    func command(_ words: String...) -> String {
        (["trueup"] + words + settingsWords).shellCommand
    }

    /// The arguments that name the same settings in another command; none where they are found
    /// without.
    var settingsWords: [String] { config.map { ["--config", $0] } ?? [] }
}

/// Turns SIGHUP, SIGINT and SIGTERM into a request to stop; a second one ends the process at once.
///
/// What is under way may be the end of a run over millions of rows, or its report. A process that
/// is killed at any moment loses nothing, so one that does not end by itself soon is ended.
///
/// A hang-up that was ignored before stays so: `nohup` asks for that.
final class SignalWatch {
    /// How long after a signal the process ends at the latest.
    private static let patience = DispatchTimeInterval.milliseconds(4500)

    private var watched: [Int32] = []

    /// One watch at a time.
    init(stop: StopRequest, say: @escaping @Sendable (String) -> Void) {
        CaughtSignals.tell { number in
            if stop.signal != nil { _exit(128 + number) }
            say("stopping: the run finishes what is in progress and keeps a checkpoint")
            // First: what is waited for there keeps the run from noticing the request.
            ServerPatience.ofProcess.stop()
            stop.request(signal: number)
            CaughtSignals.queue.asyncAfter(deadline: .now() + Self.patience) {
                // The watch ends with the report.
                if CaughtSignals.areTold {
                    say(
                        "The run was stopped before its report was complete. What it wrote is kept, and "
                            + "the next run of the job reports it.")
                }
                _exit(128 + number)
            }
        }
        for number in [SIGHUP, SIGINT, SIGTERM] {
            if number == SIGHUP, Self.isIgnored(number) { continue }
            guard CaughtSignals.catch(number) else { continue }
            watched.append(number)
        }
    }

    deinit { end() }

    /// Lets the signals end the process again.
    func end() {
        guard !watched.isEmpty else { return }
        for number in watched { signal(number, SIG_DFL) }
        watched = []
        CaughtSignals.tell(nil)
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        let before = signal(number, SIG_DFL)
        guard unsafe unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        else { return false }
        signal(number, SIG_IGN)
        return true
    }
}

/// Signals that a handler has caught, told on a queue: the handler itself can do no more than write
/// a byte.
///
/// Not by sources of Dispatch for signals. They hear one only if the main thread blocks it, and it
/// does so for the first source of a process alone: a second watch would ignore every signal.
private enum CaughtSignals {
    static let queue = DispatchQueue(label: "trueup.signals")
    private static let receiver = Mutex<(@Sendable (Int32) -> Void)?>(nil)

    /// The end of the pipe to which the handler writes; -1 where the system gives no pipe.
    private static let input: Int32 = {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return -1 }
        let (output, input) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: output, queue: queue)
        source.setEventHandler {
            // It lives as long as the process.
            withExtendedLifetime(source) {
                var number: UInt8 = 0
                while unsafe read(output, &number, 1) == 1 {
                    receiver.withLock(\.self)?(Int32(number))
                }
            }
        }
        source.activate()
        return input
    }()

    private static let handler: @convention(c) (Int32) -> Void = { number in
        let before = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = unsafe write(CaughtSignals.input, &byte, 1)
        errno = before
    }

    /// Names who is told of the signals from now on.
    static func tell(_ receiver: (@Sendable (Int32) -> Void)?) {
        self.receiver.withLock { $0 = receiver }
    }

    /// Whether a watch is told of them.
    static var areTold: Bool { receiver.withLock { $0 != nil } }

    /// Catches a signal; `false` where that is not possible, and it ends the process.
    static func `catch`(_ number: Int32) -> Bool {
        guard input >= 0 else { return false }
        return signal(number, handler) != nil
    }
}
