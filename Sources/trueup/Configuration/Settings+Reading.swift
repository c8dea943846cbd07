import Glibc
import PostgresDatabase
import Subscriptions

/// The settings file, read and checked.
extension Settings {
    /// Which settings file is meant: flag, else environment, else `./trueup.yaml`.
    package static func file(flag: String?, environment: [String: String]) -> String {
        if let flag { return flag }
        if let named = environment[fileVariable], !named.isEmpty { return named }
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
        let settings = try Settings(yaml: text, file: file, environment: environment)
        try settings.refuseMissingAuthorities()
        return settings
    }

    /// A file of TLS roots that cannot be read: no call could be made, and the error of one would not say why.
    private func refuseMissingAuthorities() throws(ConfigurationError) {
        let named =
            apps.enumerated().map { ("apps[\($0.offset)].ca_file", $0.element.caFile) }
            + [("tell.ca_file", notify?.caFile)]
        for (key, path) in named {
            guard let path, unsafe access(path, R_OK) != 0 else { continue }
            let code = errno
            throw ConfigurationError(
                file: file, line: nil, key: key,
                problem: "\(path) cannot be read: \(SettingsFile.reason(code))",
                suggestion: "write the path of the PEM file of the rehearsal, or leave the key out")
        }
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
        self.init()
        self.file = file
        let mapping = try SettingsMapping(
            root, file: file, path: "", keys: Self.declared.flatMap(\.names))
        do throws(ConfigurationError) {
            try mapping.read(Self.declared, into: &self)
            try complete(under: environment)
        } catch {
            // Before anything that is wrong with a mapping for a database that cannot be opened.
            guard !PostgresConnector.isBuiltIn, PostgresAddress.isURL(databasePath) else {
                throw error
            }
            throw ConfigurationError(
                file: file, line: nil, key: "store.url",
                problem: "names a PostgreSQL database, and this trueup was built without it",
                suggestion: PostgresConnector.installation)
        }
    }

    /// What depends on all settings of the file, and on variables.
    private mutating func complete(
        under environment: [String: String]
    ) throws(ConfigurationError) {
        for setting in Self.declared.flatMap({ [$0] + $0.nested }) {
            guard let name = setting.description.variable, let text = environment[name],
                !text.isEmpty
            else { continue }
            try setting.read(SettingsValue(text, ofVariable: name), &self)
        }
        if !PostgresAddress.isURL(databasePath) {
            databasePath = SettingsPath.resolve(databasePath, from: directory)
        }
        try company.complete(url: &databasePath, in: directory, file: file)
        reportDirectory = SettingsPath.resolve(reportDirectory, from: directory)
    }

    mutating func add(_ app: AppSettings, from entry: SettingsValue) throws(ConfigurationError) {
        guard !apps.contains(where: { $0.identity == app.identity }) else {
            throw entry.error(
                "\(app.identity.bundleID) in \(app.identity.environment.rawValue.lowercased())"
                    + " is configured twice", suggestion: "keep one of them")
        }
        apps.append(app)
    }
}

/// Paths that the environment may give, too: they are resolved when both are read.
extension SettingForm where Value == String {
    static var reportDirectory: SettingForm {
        SettingForm(
            "path", examples: ["other"],
            read: { value throws(ConfigurationError) in try value.text("a path") },
            written: { $0 })
    }

    static var storeURL: SettingForm {
        SettingForm(
            "`sqlite:` and a path, or `postgres://`", examples: ["sqlite:other.sqlite"],
            read: { value throws(ConfigurationError) in
                let example = "write for example sqlite:trueup.sqlite"
                let url = try value.text("a URL")
                let scheme = url.prefix { $0 != ":" }
                guard scheme.count < url.count else {
                    throw value.error("must begin with sqlite:", suggestion: example)
                }
                if PostgresAddress.isURL(url) {
                    do throws(PostgresAddress.Problem) {
                        _ = try PostgresAddress(url: url)
                        return url
                    } catch {
                        throw value.error(error.problem, suggestion: error.suggestion)
                    }
                }
                guard scheme == "sqlite" else {
                    // Not repeated whole: a password may stand in it.
                    throw value.error(
                        "this version has no store \"\(scheme):\"; supported: sqlite:, postgres:",
                        suggestion: example)
                }
                var path = url.dropFirst("sqlite:".count)
                if path.hasPrefix("///") { path = path.dropFirst(2) }
                guard !path.isEmpty, !path.hasPrefix("//"), !path.hasSuffix("/"),
                    path != ":memory:"
                else { throw value.error("must name a file", suggestion: example) }
                return String(path)
            },
            written: { PostgresAddress.isURL($0) ? $0 : "sqlite:" + $0 })
    }
}

extension SettingForm where Value == TableMapping {
    static var tableMapping: SettingForm {
        SettingForm(
            "keys and values",
            examples: [
                "{table: subs, columns: {original_transaction_id: otid, "
                    + "bundle_id: {constant: com.example.app}, "
                    + "environment: {constant: production}, status: status}}"
            ],
            read: { value throws(ConfigurationError) in try TableMapping(value) },
            digested: \.digested)
    }
}
