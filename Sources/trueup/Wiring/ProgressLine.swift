import AppStoreServerAPI
import Dispatch
import Logging
package import ReconciliationRun
import ServerConnections
package import SubscriptionStore
package import Subscriptions
import Synchronization

/// The line at the terminal about a run: how far it is, what it waits for, and what happened on the
/// way.
///
/// On a terminal progress and waits are one line that is written over; elsewhere progress is a line
/// now and then, and every wait a line of its own, at once.
package final class ProgressLine: Sendable {
    private struct State {
        var lastShown: ContinuousClock.Instant?
        var isOpen = false
        var progress: RunProgress?
        /// Points of the present stage: its beginning, or one older than the time over which the
        /// rate is taken, and a newer point.
        var began: (at: ContinuousClock.Instant, progress: RunProgress)?
        var newer: (at: ContinuousClock.Instant, progress: RunProgress)?
        /// The last wait that was shown; it may be over.
        var wait: RunStanding.Wait?
        /// The answer of a server that is waited for.
        var serverWait: RunStanding.Wait?
        /// The pause while the company's database is over a limit.
        var databaseWait: RunStanding.Wait?
        var quota: [LiveRun.QuotaUse] = []
        var orders: RunOrders?
    }

    private let state = Mutex(State())
    private let isTerminal: Bool
    private let isQuiet: Bool
    private let now: @Sendable () -> Timestamp
    private let columns: @Sendable () -> Int
    private let write: @Sendable (String) -> Void

    private static let terminalInterval = Duration.milliseconds(200)
    private static let logInterval = Duration.seconds(30)
    /// The rate is that of the last one to two times as long: a run slows down and speeds up.
    private static let rateInterval = Duration.seconds(15)

    /// - Parameters:
    ///   - isTerminal: Whether a line can be written over.
    ///   - isQuiet: Whether nothing is said at all.
    ///   - now: The wall clock, by which waits end.
    ///   - columns: How wide the terminal is now.
    ///   - write: Where it is said; never standard output.
    package init(
        isTerminal: Bool, isQuiet: Bool, now: @escaping @Sendable () -> Timestamp,
        columns: @escaping @Sendable () -> Int = { 80 },
        write: @escaping @Sendable (String) -> Void
    ) {
        self.isTerminal = isTerminal && !isQuiet
        self.isQuiet = isQuiet
        self.now = now
        self.columns = columns
        self.write = write
    }

    package func show(_ progress: RunProgress) {
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            state.progress = progress
            if state.began?.progress.stage != progress.stage {
                state.began = (now, progress)
                state.newer = nil
            } else if let newer = state.newer ?? state.began, now - newer.at >= Self.rateInterval {
                if state.newer != nil { state.began = newer }
                state.newer = (now, progress)
            }
            let interval = isTerminal ? Self.terminalInterval : Self.logInterval
            guard !isQuiet else { return false }
            // Short runs on a schedule need no progress at all.
            guard let last = state.lastShown else {
                state.lastShown = now
                return isTerminal
            }
            guard now - last >= interval else { return false }
            state.lastShown = now
            return true
        }
        guard isDue else { return }
        guard !isTerminal else { return overwrite() }
        if let sentence = standing.sentence { writeLine(sentence) }
    }

    /// Says that nothing is asked until `end`.
    ///
    /// - Parameters:
    ///   - sentence: All of it, with the time, for a line of its own.
    ///   - reason: In a few words, for the line that is written over.
    ///   - end: When the run continues.
    package func wait(_ sentence: String, for reason: String, until end: Timestamp) {
        state.withLock { $0.wait = RunStanding.Wait(reason: reason, until: end) }
        guard !isQuiet else { return }
        guard isTerminal else { return writeLine(sentence) }
        overwrite()
    }

    /// Notes which server is waited for, and says so once for each wait.
    ///
    /// - Parameter wait: `nil` where none is.
    package func note(_ wait: RunStanding.Wait?) {
        let before = state.withLock { state in
            defer { state.serverWait = wait }
            return state.serverWait
        }
        guard !isQuiet, let wait else { return }
        guard !isTerminal else { return overwrite() }
        guard before?.reason != wait.reason || before?.since != wait.since else { return }
        writeLine(wait.sentence)
    }

    /// Says that the run pauses while the company's database is over a limit.
    ///
    /// - Parameter wait: The limit, and since when.
    package func holdForDatabase(_ wait: RunStanding.Wait) {
        state.withLock { $0.databaseWait = wait }
        guard !isQuiet else { return }
        guard !isTerminal else { return overwrite() }
        writeLine(wait.sentence)
    }

    /// Says that such a pause is over.
    package func databaseIsReleased() {
        state.withLock { $0.databaseWait = nil }
        say("the pause for your database is over")
    }

    /// Notes what is used of the hour; it is shown with the next progress.
    package func note(_ quota: [LiveRun.QuotaUse]) {
        state.withLock { $0.quota = quota }
    }

    /// Notes what people have ordered.
    package func note(_ orders: RunOrders) {
        let now = ContinuousClock.now
        state.withLock { state in
            // What was done at another pace says nothing of what is left.
            if state.orders?.throttle?.requestsPerSecond != orders.throttle?.requestsPerSecond {
                state.began = state.progress.map { (now, $0) }
                state.newer = nil
            }
            state.orders = orders
        }
    }

    /// Says something in a line of its own.
    package func say(_ sentence: String) {
        clear()
        guard !isQuiet else { return }
        writeLine(sentence)
        if isTerminal, standing.wait != nil || standing.pause != nil { overwrite() }
    }

    /// Clears the line that is written over, before anything else is written.
    package func clear() {
        let isOpen = state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        if isOpen { write("\r\u{1B}[K") }
    }

    /// The progress that the run has reported so far, whether or not it was shown.
    package var standing: RunStanding {
        let now = now()
        return state.withLock { state in
            var standing = RunStanding(
                progress: state.progress,
                perSecond: Self.rate(
                    since: state.began, state.progress,
                    atMost: state.orders?.throttle?.requestsPerSecond),
                wait: state.serverWait ?? state.databaseWait
                    ?? state.wait.flatMap { $0.until > now ? $0 : nil },
                quota: state.quota)
            standing.pause = state.orders?.pause
            standing.throttle = state.orders?.throttle
            return standing
        }
    }

    private func writeLine(_ sentence: String) {
        write("trueup: \(PlainText.of(sentence))\n")
    }

    private func overwrite() {
        let line = standing.line(within: max(1, columns() - 1))
        state.withLock { $0.isOpen = true }
        write("\r\u{1B}[K" + PlainText.of(line))
    }

    /// `nil` until there is something to tell.
    private static func rate(
        since began: (at: ContinuousClock.Instant, progress: RunProgress)?,
        _ progress: RunProgress?, atMost throttle: Double?
    ) -> Double? {
        guard let began, let progress, began.progress.stage == progress.stage else { return nil }
        let seconds = (ContinuousClock.now - began.at) / .seconds(1)
        let done = progress.done - began.progress.done
        let asks = [.walk, .again, .purchases].contains(progress.stage)
        guard seconds >= 1, done > 0 else { return nil }
        let rate = Double(done) / seconds
        // A row takes a call at least.
        return asks ? throttle.map { min($0, rate) } ?? rate : rate
    }
}

/// Tells the log, and the person at the terminal, what a run waits for and how fast it asks, and
/// adds up the waits.
final class PacingReport: Sendable {
    private let logger: Logger
    private let terminal: ProgressLine
    private let now: @Sendable () -> Timestamp
    private let waited = Mutex<[String: Int64]>([:])

    /// - Parameters:
    ///   - logger: The run's log.
    ///   - terminal: Where a person sees it.
    ///   - now: The wall clock, by which waits end.
    init(logger: Logger, terminal: ProgressLine, now: @escaping @Sendable () -> Timestamp) {
        self.logger = logger
        self.terminal = terminal
        self.now = now
    }

    /// How long the run had to wait before asking, by reason.
    var waitedMilliseconds: [String: Int64] { waited.withLock(\.self) }

    func tell(_ notice: PacingNotice) {
        log(notice)
        let wait = Self.wait(notice)
        if let (reason, end) = wait {
            let length = max(0, end.milliseconds(since: now()))
            waited.withLock { $0[reason, default: 0] += length }
        }
        guard let sentence = notice.sentence else { return }
        guard let (reason, end) = wait else { return terminal.say(sentence) }
        terminal.wait(sentence, for: "\(notice.endpoint.rawValue) (\(reason))", until: end)
    }

    /// The wait that a notice is about, with its reason; `nil` for any other notice.
    private static func wait(_ notice: PacingNotice) -> (reason: String, end: Timestamp)? {
        switch notice.event {
        case .wait(let wait) where !wait.isPastDeadline: return (wait.name, wait.until)
        case .outage(let outage):
            guard case .waits(let until, _) = outage.event else { return nil }
            return ("outage", until)
        default: return nil
        }
    }

    private func log(_ notice: PacingNotice) {
        var data: Logger.Metadata = [
            "app": "\(notice.app.bundleID)", "environment": "\(notice.app.environment.rawValue)",
            "endpoint": "\(notice.endpoint.rawValue)",
        ]
        switch notice.event {
        case .outage(let outage):
            data["sentence"] = "\(outage.sentence)"
            if case .waits(let until, _) = outage.event { data["until"] = "\(until.rfc3339)" }
            logger.warning("outage", metadata: data)
        case .wait(let wait):
            data["reason"] = "\(wait.name)"
            data["until"] = "\(wait.until.rfc3339)"
            data["sentence"] = "\(wait.sentence)"
            logger.warning("wait.begun", metadata: data)
        case .rate(let perSecond, let configured):
            data["calls_per_second"] = "\(perSecond)"
            data["configured"] = "\(configured)"
            logger.notice("rate.changed", metadata: data)
        case .breakerOpened(let cause):
            data["cause"] = "\(cause)"
            logger.warning("breaker.opened", metadata: data)
        case .breakerClosed: logger.notice("breaker.closed", metadata: data)
        case .retries(let count, let cause):
            data["count"] = "\(count)"
            data["cause"] = "\(cause)"
            logger.notice("retries", metadata: data)
        }
    }
}

/// Says, once a second, which server has not answered for so long that a person would wonder.
final class ServerWaitTeller {
    /// How long an answer may take before anything is said of it.
    private static let silence = Duration.seconds(10)

    /// For how long what was said holds where nothing is said any more.
    private static let milliseconds: Int64 = 60_000

    private let timer: any DispatchSourceTimer

    /// - Parameters:
    ///   - patience: Knows what is waited for.
    ///   - terminal: Where it is said.
    ///   - now: The wall clock.
    init(
        of patience: ServerPatience = .ofProcess, to terminal: ProgressLine,
        now: @escaping @Sendable () -> Timestamp
    ) {
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "trueup.waits"))
        // The time of day at which a wait was first reported: the two clocks drift.
        let known = Mutex<(wait: ServerPatience.Wait, since: Timestamp)?>(nil)
        timer.setEventHandler {
            let waiting = known.withLock { ServerWaitTeller.wait(of: patience, at: now(), &$0) }
            terminal.note(waiting)
        }
        timer.schedule(deadline: .now() + 1, repeating: 1)
        timer.activate()
    }

    deinit { timer.cancel() }

    private static func wait(
        of patience: ServerPatience, at now: Timestamp,
        _ known: inout (wait: ServerPatience.Wait, since: Timestamp)?
    ) -> LiveRun.Wait? {
        guard let wait = patience.wait else { return nil }
        let waited = wait.since.duration(to: .now)
        guard waited >= silence else { return nil }
        if known?.wait != wait {
            known = (wait, now.adding(milliseconds: -Int64(waited / .milliseconds(1))))
        }
        return LiveRun.Wait(
            reason: "an answer of " + wait.reason, until: now.adding(milliseconds: milliseconds),
            since: known?.since)
    }
}

/// How far a run is and what it waits for, at one moment: what people are shown of it.
package struct RunStanding: Hashable, Sendable {
    package typealias Wait = LiveRun.Wait

    package var progress: RunProgress?
    /// The pace of the present stage in units a second; `nil` while it is not known.
    package var perSecond: Double?
    /// The reason why it waits now.
    package var wait: Wait?
    /// The used part of the hour, by app and endpoint.
    package var quota: [LiveRun.QuotaUse]
    /// The pause that people have ordered.
    package var pause: RunOrders.Order?
    package var throttle: RunOrders.Order?

    package init(
        progress: RunProgress? = nil, perSecond: Double? = nil, wait: Wait? = nil,
        quota: [LiveRun.QuotaUse] = []
    ) {
        self.progress = progress
        self.perSecond = perSecond
        self.wait = wait
        self.quota = quota
    }

    /// At the present rate; `nil` where rate or total is not known, or nothing is left.
    package var millisecondsLeft: Int64? {
        guard let perSecond, perSecond > 0, let progress, let total = progress.total,
            total > progress.done
        else { return nil }
        return Int64(min(1e12, Double(total - progress.done) / perSecond * 1000))
    }

    /// All that is known of the progress, for a line without limits; `nil` before there is any.
    package var sentence: String? {
        progress.map { [full($0), quotaInWords].compactMap(\.self).joined(separator: ", ") }
    }

    /// Of the endpoint that has used most of its share; `nil` before a call was made.
    private var quotaInWords: String? {
        guard let most = quota.map(\.percent).max() else { return nil }
        return most == 0 ? "under 1 % of quota" : "\(most) % of quota"
    }

    /// Returns the parts that fit into a line of the terminal: the most important comes first, and
    /// is left out last.
    ///
    /// - Parameter room: How many characters fit.
    /// - Returns: At most so many characters.
    package func line(within room: Int) -> String {
        let waiting =
            pause?.sentence ?? wait?.sentence
        let forms: [[String?]] =
            waiting == nil
            ? [
                [sentence], [progress.map(full)], [progress.map(Self.text)],
                [progress.map(Self.short)],
            ]
            : [
                [sentence, waiting], [progress.map(full), waiting],
                [progress.map(Self.text), waiting],
                [progress.map(Self.short), waiting], [waiting],
                pause == nil ? [progress.map(Self.short)] : ["paused"],
            ]
        let lines = forms.map { $0.compactMap(\.self).joined(separator: "; ") }
        return lines.first { $0.count <= room } ?? String((lines.last ?? "").prefix(room))
    }

    /// With the rate and the time left, where these are known.
    private func full(_ progress: RunProgress) -> String {
        var parts = [Self.text(progress)]
        if let perSecond {
            parts.append((perSecond < 10 ? Self.tenths(perSecond) : "\(Int(perSecond))") + "/s")
        }
        if let millisecondsLeft {
            parts.append(DurationText.age(ofMilliseconds: millisecondsLeft) + " left")
        }
        return parts.joined(separator: ", ")
    }

    private static func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// For a narrow terminal: `walk 29 %`.
    private static func short(_ progress: RunProgress) -> String {
        guard let total = progress.total, total > 0 else {
            return "\(progress.stage.rawValue) \(progress.done)"
        }
        let share = min(1, Double(progress.done) / Double(total))
        return "\(progress.stage.rawValue) \(Int(share * 100)) %"
    }

    /// `120 of 5000`, or `120` where it is not known of how many.
    private static func share(of progress: RunProgress) -> String {
        progress.total.map { "\(progress.done) of \($0)" } ?? "\(progress.done)"
    }

    private static func text(_ progress: RunProgress) -> String {
        switch progress.stage {
        case .books: "books: \(progress.done) rows read from the server"
        case .read:
            progress.total.map { "read: \(progress.done) of about \($0) rows of your table" }
                ?? "read: \(progress.done) rows of your table"
        case .file: "file: \(progress.done) lines read"
        case .load: "load: \(Self.share(of: progress)) lines compared with the table"
        case .entitlements: "entitlements: \(Self.share(of: progress)) customers up to date"
        case .recover: "recover: \(progress.done) notifications read"
        case .walk: "walk: \(Self.share(of: progress)) rows asked"
        case .again: "walk: \(progress.done) rows asked once more"
        case .purchases: "purchases: \(Self.share(of: progress)) customers read"
        case .plan: "plan: \(Self.share(of: progress)) corrections checked"
        case .apply: "apply: \(Self.share(of: progress)) corrections written"
        case .causes: "causes: \(progress.done) findings examined"
        case .conclude: "conclude: \(Self.share(of: progress)) rows noted"
        case .report: "report: \(Self.share(of: progress)) lines written"
        case .verify: "verify: \(Self.share(of: progress)) lines checked"
        }
    }
}
