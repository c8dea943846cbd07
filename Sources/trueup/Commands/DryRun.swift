import ArgumentParser
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// `--dry-run` of the commands that write.
struct DryRunOption: ParsableArguments {
    @Flag(help: "Print what would be done; write nothing.")
    var dryRun = false

    /// Throws where the command is told to write as well.
    func refuse(with execute: Bool) throws {
        try refuse(
            if: dryRun && execute,
            "--dry-run and --execute contradict each other; give one of them.")
    }

    /// Shows what would be done.
    ///
    /// - Parameters:
    ///   - members: For machines.
    ///   - sentence: For people.
    ///   - common: Which of them is asked for.
    ///   - invocation: Where it goes.
    /// - Returns: Success.
    /// - Throws: When the stream takes no more.
    func show(
        _ members: CanonicalJSON, _ sentence: String, _ common: CommonOptions,
        in invocation: Invocation
    ) throws(CommandFailure) -> ExitStatus {
        var object = ["dry_run": CanonicalJSON.boolean(true)]
        if case .object(let others) = members { object.merge(others) { $1 } }
        try common.show(
            .object(object), ["Dry run: " + sentence + " Nothing was written."], in: invocation)
        return .ok
    }
}

extension PreparedRun {
    /// Performs a `run` or `check`, or with `--dry-run` its forecast.
    func perform(
        _ dry: DryRunOption, _ common: CommonOptions, in invocation: Invocation
    ) async throws -> ExitStatus {
        guard !dry.dryRun else { return try await showForecast(common, in: invocation) }
        return try await RunSession(run: self, common: common, invocation: invocation).perform()
    }

    /// Shows the forecast, without a call to Apple.
    ///
    /// Only Apple's answers say what differs, so this is the forecast of `estimate`, after everything
    /// that the run itself refuses was checked: settings, job, key, roots and the file of ids.
    private func showForecast(
        _ common: CommonOptions, in invocation: Invocation
    ) async throws -> ExitStatus {
        for app in askedApps {
            _ = try AppConnection.key(of: app, environment: invocation.environment)
        }
        let store = try Books(settings).openToRead(at: invocation.now())
        let words = "\(header.job) (mode \(job.mode.rawValue))"
        let writes =
            job.mode == .apply
            ? "It would correct rows. \"trueup check\" makes the plan of that without writing a row."
            : "It would write no subscription row."
        var members: [String: CanonicalJSON] = [
            "dry_run": .boolean(true), "forecast": .null, "job": .string(header.job),
            "mode": .string(job.mode.rawValue), "scope": .strings(header.filters),
        ]
        guard let forecastedJob else {
            let filters = header.filters.joined(separator: ", ")
            try common.show(
                .object(members),
                [
                    "Dry run of \(words), only \(filters): a partial run is not forecast. \(writes) "
                        + "Apple was not asked, and nothing was written."
                ], in: invocation)
            return .ok
        }
        let forecast = try await RunForecast(
            of: forecastedJob, settings: settings, apps: job.filters.apps, at: header.started,
            in: store)
        let report = EstimateReport(
            job: forecastedJob, forecast: forecast, copy: try settings.company.copy(in: store))
        members["forecast"] = report.json
        members["scope"] = .array([])
        try common.show(
            .object(members),
            ["Dry run of \(words). \(writes) Apple was not asked, and nothing was written.", ""]
                + report.lines, in: invocation)
        return .ok
    }
}
