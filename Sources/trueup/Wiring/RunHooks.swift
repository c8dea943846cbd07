import EventDelivery
import FoundationEssentials
import Logging
import ReconciliationRun
import Reports
import Subscriptions
import Synchronization

/// Starts the company's programs of a job: `hooks.before`, `hooks.after_plan` and `hooks.after`.
///
/// A program that cannot be started, or that takes too long, counts as one that refuses: a policy that was not asked
/// has not agreed. A program gets its input on standard input, a handful of harmless variables, and what names the
/// run; never a key or a secret.
final class RunHooks: Sendable {
    private let run: PreparedRun
    private let environment: [String: String]
    private let stop: StopRequest
    private let logger: Logger
    private let said = Mutex<[String]>([])

    init(
        of run: PreparedRun, environment: [String: String], stop: StopRequest, logger: Logger
    ) {
        self.run = run
        self.environment = ChildProcess.handedOn(environment)
        self.stop = stop
        self.logger = logger
    }

    /// The remarks of the programs, for the report.
    var remarks: [String] { said.withLock(\.self) }

    var reviewsPlans: Bool { !run.hooks.afterPlan.isEmpty }

    /// Lets `hooks.before` keep the run from beginning.
    ///
    /// - Returns: The end of the run where it refuses, or a signal came meanwhile; nothing was read of the rows
    ///   then, and Apple was not asked.
    func before() async -> RunEnd? {
        guard !run.hooks.before.isEmpty else { return nil }
        let head = CanonicalJSON.object([
            "apps": .array(run.apps.map { .string($0.name) }),
            "job": .string(run.header.job), "mode": .string(run.header.mode.rawValue),
            "run_id": .string(run.header.runID), "started": .time(run.header.started),
        ])
        let input = ChildProcess.Input.bytes(Array((head.rendered + "\n").utf8))
        let refusal = await refusal(by: "before", run.hooks.before, input, of: "the run")
        return stop.signal.map(RunEnd.signal) ?? refusal.map(RunEnd.refused)
    }

    /// Lets `hooks.after_plan` read a plan before its first write.
    ///
    /// - Parameter path: The plan, in the form of `plan.json`.
    /// - Returns: Why it is refused; `nil` where it is accepted.
    func review(planInFileAt path: String) async -> String? {
        await refusal(by: "after_plan", run.hooks.afterPlan, .file(path), of: "the plan")
    }

    /// Hands the summary of a published report to `hooks.after`.
    ///
    /// - Returns: What went wrong; it changes nothing about the run.
    func after(_ report: FinishedReport) async -> String? {
        guard !run.hooks.after.isEmpty else { return nil }
        let result = await result(
            of: "after", run.hooks.after, .file(report.path + "/summary.json"),
            more: ["TRUEUP_REPORT": FileSystemFacts.realPath(report.path)], heedsStop: false)
        guard let failure = self.failure(result) else { return nil }
        return "hooks.after (\(run.hooks.after[0])) \(failure). The run and its report are "
            + "complete."
    }

    private func refusal(
        by name: String, _ command: [String], _ input: ChildProcess.Input, of what: String
    ) async -> String? {
        let result = await result(of: name, command, input)
        let who = "hooks.\(name) (\(command[0]))"
        let failure = self.failure(result)
        logger.info(
            "hook",
            metadata: [
                "hook": "\(name)", "end": "\(failure ?? "status 0")", "output": "\(result.output)",
                "run_id": "\(run.header.runID)",
            ])
        guard let failure else {
            let line = Self.firstLine(of: result)
            note("\(who) accepted \(what)" + (line.map { ": \($0)" } ?? "."))
            return nil
        }
        switch result.end {
        case .exited(let status):
            let line = Self.firstLine(of: result)
            return "\(who) refused \(what) with status \(status)"
                + (line.map { ": \($0)" } ?? ", and printed nothing.")
        case .signalled, .timedOut, .notStarted:
            return "\(who) \(failure), which counts as a refusal."
        }
    }

    private func note(_ remark: String) { said.withLock { $0.append(remark) } }

    /// Of one program; a shorter one after a signal, because the run then ends within five seconds.
    private var timeout: Duration {
        let configured = Duration.milliseconds(run.hooks.timeoutMilliseconds)
        return stop.signal == nil ? configured : min(configured, Self.timeoutAfterSignal)
    }

    private static let timeoutAfterSignal = Duration.seconds(2)

    /// Starts a program and waits for its end, for its time, or for a signal to this run.
    private func result(
        of name: String, _ command: [String], _ input: ChildProcess.Input,
        more variables: [String: String] = [:], heedsStop: Bool = true
    ) async -> ChildProcess.Result {
        var environment = self.environment.merging(variables) { _, new in new }
        environment["TRUEUP_HOOK"] = name
        environment["TRUEUP_JOB"] = run.header.job
        environment["TRUEUP_MODE"] = run.header.mode.rawValue
        environment["TRUEUP_RUN_ID"] = run.header.runID
        let child = ChildProcess(
            arguments: command, environment: environment, input: input, timeout: timeout)
        let running = Task { await child.run() }
        let watching = Task { [stop] in
            while heedsStop, stop.signal == nil {
                guard (try? await Task.sleep(for: .milliseconds(200))) != nil else { return }
            }
            if heedsStop { running.cancel() }
        }
        defer { watching.cancel() }
        return await running.value
    }

    /// How it failed, in words that follow its name; `nil` where it ended with 0.
    private func failure(_ result: ChildProcess.Result) -> String? {
        switch result.end {
        case .exited(0): nil
        case .exited(let status): "ended with status \(status)"
        case .signalled(let number): "was ended by signal \(number)"
        case .timedOut where stop.signal != nil: "was stopped after a signal to the run"
        case .timedOut:
            "took longer than \(DurationText.text(ofMilliseconds: Int64(timeout / .milliseconds(1)))) "
                + "(hooks.timeout) and was stopped"
        case .notStarted(let reason): "could not be started: \(reason)"
        }
    }

    /// The first line that is not empty, on one line of a report: at most 300 characters, without what a terminal obeys.
    private static func firstLine(of result: ChildProcess.Result) -> String? {
        result.output.split(whereSeparator: \.isNewline)
            .lazy.map { $0.trimmingPrefix { $0.isWhitespace } }
            .first { !$0.isEmpty }
            .map { PlainText.of(String($0.prefix(300))) }
    }
}
