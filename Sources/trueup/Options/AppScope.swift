package import ArgumentParser
import ReconciliationRun
import Subscriptions

/// `--app` and `--app-shard` of the commands that can be for some of the configured apps alone.
package struct AppScope: ParsableArguments {
    @Option(
        name: .customLong("app"),
        help: ArgumentHelp(
            "Only this app, in each of its environments or in one; may be repeated.",
            valueName: "bundle[/environment]"))
    package var app: [AppOption] = []

    @Option(
        name: .customLong("app-shard"),
        help: ArgumentHelp(
            "Only the apps that fall to worker K of N; which these are depends on their names alone.",
            valueName: "k/n"))
    package var appShard: ShardOption?

    package init() {}

    package func validate() throws {
        if let appShard, appShard.shard.count > AppShard.mostWorkers {
            throw ValidationError("--app-shard takes up to \(AppShard.mostWorkers) workers.")
        }
    }

    /// The configured apps that are meant, to work on them.
    ///
    /// - Parameter configured: Those of the settings.
    /// - Returns: `nil` where all are.
    /// - Throws: 64 for an app that is not configured, 5 where none falls to this worker.
    func apps(among configured: [AppSettings]) throws(CommandFailure) -> Set<AppIdentity>? {
        guard let apps = try listed(among: configured) else { return nil }
        guard !apps.isEmpty else {
            throw CommandFailure(
                .empty,
                "no app falls to worker \(appShard?.shard.text ?? "") of --app-shard; nothing was "
                    + "asked. There may be more workers than apps: \"trueup apps --app-shard K/N\" "
                    + "lists those of each")
        }
        return apps
    }

    /// The configured apps that are meant, perhaps none.
    ///
    /// - Parameter configured: Those of the settings.
    /// - Returns: `nil` where all are.
    /// - Throws: 64 for an app that is not configured.
    func listed(among configured: [AppSettings]) throws(CommandFailure) -> Set<AppIdentity>? {
        let shard = appShard?.shard
        guard !app.isEmpty || (shard?.count ?? 1) > 1 else { return nil }
        var apps: Set<AppIdentity> = app.isEmpty ? Set(configured.map(\.identity)) : []
        for option in app {
            let meant = configured.map(\.identity).filter(option.means)
            guard !meant.isEmpty else { throw option.unknown(among: configured) }
            apps.formUnion(meant)
        }
        return apps.filter { shard?.includes(app: $0) ?? true }
    }

    /// What was given, to be given again.
    var words: [String] {
        app.flatMap { ["--app", $0.text] }
            + (appShard.map { ["--app-shard", $0.shard.text] } ?? [])
    }
}

/// `BUNDLE` or `BUNDLE/ENVIRONMENT` of `--app`.
package struct AppOption: ExpressibleByArgument, Hashable, Sendable {
    let text: String
    private let bundleID: String
    private let environment: AppStoreEnvironment?

    package init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        guard let bundle = parts.first, !bundle.isEmpty, parts.count <= 2 else { return nil }
        let named = parts.count == 2 ? parts[1].lowercased() : nil
        environment = AppStoreEnvironment.allCases.first { $0.rawValue.lowercased() == named }
        guard named == nil || environment != nil else { return nil }
        text = argument
        bundleID = String(bundle)
    }

    func means(_ app: AppIdentity) -> Bool {
        app.bundleID == bundleID && (environment == nil || app.environment == environment)
    }

    func unknown(among configured: [AppSettings]) -> CommandFailure {
        let names = configured.map(\.identity.name)
        let hint =
            NearestName.suggestion(for: text, among: names + configured.map(\.identity.bundleID))
            .map { "; did you mean \"\($0)\"?" }
            ?? "; configured are \(names.joined(separator: ", "))"
        return CommandFailure(.usage, "--app: no app \"\(text)\" is configured\(hint)")
    }
}

extension Narrowing {
    /// The apps of the narrowing, for every file of the report.
    var appsInWords: [String] {
        (apps ?? []).sorted().map { RunHeader.appNarrowing + $0.name }
    }
}
