package import ArgumentParser
package import Subscriptions

/// `trueup apps`: the configured apps, for engines that share them out among workers.
package struct Apps: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "List the configured apps, as --app takes them.",
        discussion: """
            An engine that starts one worker for each app (a Kubernetes Job with indexes, a DAG with \
            mapped tasks) reads the list, and gives each worker its app with --app; or it gives each \
            worker its number with --app-shard, which here lists the apps of that worker. Reads \
            the settings and nothing else.
            """)

    @OptionGroup package var scope: AppScope
    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let listed = try scope.listed(among: settings.apps)
        let identities = settings.identities.filter { listed?.contains($0) ?? true }
        guard common.json else {
            for app in identities { try invocation.show(app.name) }
            return .ok
        }
        let apps = identities.map { app in
            CanonicalJSON.object([
                "app": .string(app.name), "bundle_id": .string(app.bundleID),
                "environment": .string(app.environment.rawValue),
            ])
        }
        try invocation.show(json: CanonicalJSON.object(["apps": .array(apps)]))
        return .ok
    }
}
