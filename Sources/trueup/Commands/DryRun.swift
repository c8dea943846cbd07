import ArgumentParser
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// `--dry-run` of the commands that write.
package struct DryRunOption: ParsableArguments {
    @Flag(name: .customLong("dry-run"), help: "Print what would be done; write nothing.")
    package var dryRun = false

    package init() {}

    /// Throws where the command is told to write as well.
    func refuse(with execute: Bool) throws {
        guard dryRun, execute else { return }
        throw ValidationError("--dry-run and --execute contradict each other; give one of them.")
    }

    /// - Parameters:
    ///   - members: What would be done, for machines.
    ///   - sentence: The same for people.
    ///   - isJSON: Which of them is asked for.
    ///   - invocation: Where it goes.
    /// - Returns: Success.
    /// - Throws: When the stream takes no more.
    func show(
        _ members: CanonicalJSON, _ sentence: String, asJSON isJSON: Bool, in invocation: Invocation
    ) throws(CommandFailure) -> ExitStatus {
        guard isJSON else {
            try invocation.show("Dry run: " + sentence + " Nothing was written.")
            return .ok
        }
        var object = ["dry_run": CanonicalJSON.boolean(true)]
        if case .object(let others) = members { object.merge(others) { $1 } }
        try invocation.show(json: .object(object))
        return .ok
    }
}

/// The forecast of a `run` or `check`, without a call to Apple.
///
/// Only Apple's answers say what differs, so this is the forecast of `estimate`, after everything
/// that the run itself refuses was checked: settings, job, key, roots and the file of ids.
struct RunDryRun {
    let run: PreparedRun
    let common: CommonOptions

    func show(in invocation: Invocation) async throws -> ExitStatus {
        for app in run.askedApps {
            _ = try AppConnection.key(of: app, environment: invocation.environment)
        }
        let store = try Books(run.settings).openToRead(at: invocation.now())
        let words = "\(run.header.job) (mode \(run.job.mode.rawValue))"
        let writes =
            run.job.mode == .apply
            ? "It would correct rows. \"trueup check\" makes the plan of that without writing a row."
            : "It would write no subscription row."
        guard let job = run.forecastedJob else {
            let filters = run.header.filters.joined(separator: ", ")
            let members: [String: CanonicalJSON] = [
                "forecast": .null, "job": .string(run.header.job),
                "mode": .string(run.job.mode.rawValue),
                "scope": .array(run.header.filters.map(CanonicalJSON.string)),
            ]
            if !common.json {
                try invocation.show(
                    "Dry run of \(words), only \(filters): a partial run is not forecast. \(writes) "
                        + "Apple was not asked, and nothing was written.")
                return .ok
            }
            return try DryRunOption().show(
                .object(members), "", asJSON: true, in: invocation)
        }
        let forecast = try await RunForecast(
            of: job, settings: run.settings, apps: run.job.filters.apps, at: run.header.started,
            in: store)
        let report = EstimateReport(
            job: job, forecast: forecast, copy: try run.settings.company.copy(in: store))
        guard !common.json else {
            return try DryRunOption().show(
                .object([
                    "forecast": report.json, "job": .string(run.header.job),
                    "mode": .string(run.job.mode.rawValue), "scope": .array([]),
                ]), "", asJSON: true, in: invocation)
        }
        try invocation.show(
            lines: [
                "Dry run of \(words). \(writes) Apple was not asked, and nothing was written.", "",
            ] + report.lines)
        return .ok
    }
}
