package import ArgumentParser
import ReconciliationRun
package import Subscriptions

/// `--app` of the commands that can be for some of the configured apps alone.
package struct AppScope: ParsableArguments {
    @Option(
        name: .customLong("app"),
        help: ArgumentHelp(
            "Only this app, in each of its environments or in one; may be repeated.",
            valueName: "bundle[/environment]"))
    package var app: [AppOption] = []

    package init() {}

    /// The configured apps that are meant.
    ///
    /// - Parameter configured: Those of the settings.
    /// - Returns: `nil` where no `--app` was given.
    /// - Throws: 64 for an app that is not configured.
    func apps(among configured: [AppSettings]) throws(CommandFailure) -> Set<AppIdentity>? {
        guard !app.isEmpty else { return nil }
        var apps: Set<AppIdentity> = []
        for option in app {
            let meant = configured.map(\.identity).filter(option.means)
            guard !meant.isEmpty else { throw option.unknown(among: configured) }
            apps.formUnion(meant)
        }
        return apps
    }

    /// What was given, to be given again.
    var words: [String] { app.flatMap { ["--app", $0.text] } }
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

extension AppIdentity {
    /// As `--app` takes it.
    package var name: String { "\(bundleID)/\(environment.rawValue.lowercased())" }
}

extension Narrowing {
    /// The apps of the narrowing, for every file of the report.
    var appsInWords: [String] {
        (apps ?? []).sorted().map { RunHeader.appNarrowing + $0.name }
    }
}
