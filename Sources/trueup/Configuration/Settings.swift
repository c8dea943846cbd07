package import Subscriptions

/// The effective settings: file, environment and defaults merged, every path resolved.
package struct Settings: Hashable, Sendable {
    /// The settings file as named by flag, environment or default.
    package var file: String
    /// One or several, in the file's order; no two of the same bundle and environment.
    package var apps: [AppSettings]
    /// The SQLite file.
    package var databasePath: String
    package var reportDirectory: String
    /// Whom to tell of corrections; `nil` for nobody.
    package var tell: TellSettings?
    /// How long bookkeeping is kept: told events, inbox notifications, what earlier runs listed.
    package var retentionMilliseconds: Int64 = 400 * 86_400_000

    package static let defaultFile = "trueup.yaml"
    static let defaultStoreURL = "sqlite:trueup.sqlite"
    static let defaultReportDirectory = "reports"

    /// Names of the environment variables that take precedence over the file.
    enum Variable {
        static let config = "TRUEUP_CONFIG"
        static let storeURL = "TRUEUP_STORE_URL"
        static let reportDirectory = "TRUEUP_REPORT_DIRECTORY"
    }

    /// The folder where relative paths and `jobs/` start.
    package var directory: String { SettingsPath.directory(of: file) }

    package var identities: [AppIdentity] { apps.map(\.identity) }

    /// Which settings file is meant: flag, else environment, else `./trueup.yaml`.
    package static func file(flag: String?, environment: [String: String]) -> String {
        if let flag { return flag }
        if let named = environment[Variable.config], !named.isEmpty { return named }
        return defaultFile
    }

    /// Reads the settings.
    ///
    /// - Throws: 78 with file, line, key and what to write instead.
    package static func load(
        flag: String?, environment: [String: String]
    ) throws(ConfigurationError) -> Settings {
        let file = file(flag: flag, environment: environment)
        let text = try SettingsFile.text(
            ofFileAt: file, absent: "run \"trueup init\", or name the file with --config")
        return try Settings(yaml: text, file: file, environment: environment)
    }

    /// The settings in a text; `file` is only named in errors and tells where paths start.
    package init(
        yaml: String, file: String, environment: [String: String]
    ) throws(ConfigurationError) {
        guard let root = try YAMLDocument.root(of: yaml, file: file) else {
            throw ConfigurationError(
                file: file, line: 1, key: "apps", problem: "is missing: the file is empty",
                suggestion: "\"trueup init\" writes a commented one elsewhere to start from")
        }
        let directory = SettingsPath.directory(of: file)
        let mapping = try SettingsMapping(
            root, file: file, path: "", keys: ["apps", "store", "report", "tell", "retention"])
        self.file = file
        apps = []
        let list = try mapping.required("apps", example: "[…]")
        for entry in try list.list() {
            let app = try AppSettings(entry, directory: directory)
            guard !apps.contains(where: { $0.identity == app.identity }) else {
                throw entry.error(
                    "\(app.identity.bundleID) in \(app.identity.environment.rawValue.lowercased())"
                        + " is configured twice", suggestion: "keep one of them")
            }
            apps.append(app)
        }
        databasePath = try Self.databasePath(
            mapping, environment: environment, directory: directory)
        reportDirectory = try Self.reportDirectory(
            mapping, environment: environment, directory: directory)
        if let retention = mapping.value("retention") {
            retentionMilliseconds = try retention.durationMilliseconds()
        }
        let isRehearsal = apps.contains { $0.endpoint.isLoopback }
        tell = try mapping.value("tell").map { value throws(ConfigurationError) in
            try TellSettings(value, directory: directory, isRehearsal: isRehearsal)
        }
    }

    private static func databasePath(
        _ mapping: SettingsMapping, environment: [String: String], directory: String
    ) throws(ConfigurationError) -> String {
        let value = try mapping.value("store")?.mapping(keys: ["url"]).value("url")
        let inFile = try value.map { value throws(ConfigurationError) in
            try storePath(try value.text("a URL"), directory: directory, error: value.error)
        }
        if let url = environment[Variable.storeURL], !url.isEmpty {
            return try storePath(url, directory: directory) { problem, suggestion in
                ConfigurationError(
                    file: "environment", key: Variable.storeURL, problem: problem,
                    suggestion: suggestion)
            }
        }
        return inFile ?? SettingsPath.resolve("trueup.sqlite", from: directory)
    }

    private static func storePath(
        _ url: String, directory: String,
        error: (_ problem: String, _ suggestion: String?) -> ConfigurationError
    ) throws(ConfigurationError) -> String {
        let scheme = url.prefix { $0 != ":" }
        guard scheme.count < url.count else {
            throw error("must begin with sqlite:", "write for example \(defaultStoreURL)")
        }
        guard scheme == "sqlite" else {
            // Not repeated whole: a password may stand in it.
            throw error(
                "this version has no store \"\(scheme):\"; supported: sqlite:",
                "write for example \(defaultStoreURL)")
        }
        var path = url.dropFirst("sqlite:".count)
        if path.hasPrefix("///") { path = path.dropFirst(2) }
        guard !path.isEmpty, !path.hasPrefix("//"), !path.hasSuffix("/"), path != ":memory:" else {
            throw error("must name a file", "write for example \(defaultStoreURL)")
        }
        return SettingsPath.resolve(String(path), from: directory)
    }

    private static func reportDirectory(
        _ mapping: SettingsMapping, environment: [String: String], directory: String
    ) throws(ConfigurationError) -> String {
        let value = try mapping.value("report")?.mapping(keys: ["directory"]).value("directory")
        let inFile = try value?.text("a path")
        if let path = environment[Variable.reportDirectory], !path.isEmpty {
            return SettingsPath.resolve(path, from: directory)
        }
        return SettingsPath.resolve(inFile ?? defaultReportDirectory, from: directory)
    }
}
