import Crypto
import Glibc
import MySQLDatabase
import PostgresDatabase
import ProgramDatabase
import Reconciliation
import ServerConnections
package import Subscriptions

/// The effective settings: file, environment and defaults merged, every path resolved.
///
/// The initial values are the defaults; paths among them start at the file as well.
package struct Settings: Hashable, Sendable, SettingsSection {
    /// The settings file as named by flag, environment or default.
    package var file = defaultFile
    /// One or several, in the file's order; no two of the same bundle and environment.
    package var apps: [AppSettings] = []
    /// The SQLite file with the job's books, and with the rows or a copy of them.
    package var databasePath = "trueup.sqlite"
    /// Where the rows are in a table of the company's own.
    package var company = CompanySettings()
    package var reportDirectory = "reports"
    /// The file that says which entitlements each product grants; `nil` where each is its own.
    package var catalogue: CatalogueFile?
    /// How sales reports of App Store Connect are read.
    package var sales = SalesSettings()
    /// Who is notified of corrections; `nil` for no receiver.
    package var notify: NotifySettings?
    /// Where every run leaves its metrics; `nil` for nowhere.
    package var metricsDirectory: String?
    /// The addresses that are called when a run begins and when it has ended.
    package var ping = PingSettings()
    /// The receivers of the message about how a run ended.
    package var message = MessageSettings()
    /// How long bookkeeping is kept: delivered events, inbox notifications, the records of earlier
    /// runs.
    package var retentionMilliseconds: Int64 = 400 * Milliseconds.perDay

    static let declared: [Setting<Settings>] = [
        Setting(
            SettingDescription(
                key: "apps", form: "list of keys and values", absence: .required,
                examples: ["[…]"], meaning: "one or several, each with its own quota",
                beginsNewPass: true, nested: AppSettings.declared.map(\.description),
                isList: true),
            digested: { settings in
                .array(settings.apps.map { .object(AppSettings.declared.digest(of: $0)) })
            },
            read: { value, settings throws(ConfigurationError) in
                for entry in try value.list() { try settings.add(AppSettings(entry), from: entry) }
            }),
        Setting(
            "store",
            [
                Setting(
                    "url", \.databasePath, .storeURL, newPass: .yes, variable: "TRUEUP_STORE_URL",
                    "the database, with your rows and trueup's own records"),
                Setting(
                    "books", \.company.books, .optional(.booksPlace), newPass: .yes,
                    absent: .words("in `url`"), example: "sqlite:books.sqlite",
                    variable: "TRUEUP_STORE_BOOKS",
                    "trueup's own database next to a table of yours: a file, or a name in PostgreSQL"
                ),
                Setting(
                    "copy", \.company.copyPath, .optional(.path), newPass: .no,
                    absent: .words("`\(CompanySettings.defaultCopy)`"),
                    example: "books-copy.sqlite",
                    "where this machine keeps its local cache of a database in PostgreSQL"),
                Setting(
                    "subscriptions", \.company.mapping, .optional(.tableMapping), newPass: .yes,
                    absent: .words("the table is trueup's own"),
                    "how your own table in url is read and written; "
                        + "docs/mappings/README.md"),
                Setting(
                    "purchases", \.company.purchases, .optional(.purchaseMapping), newPass: .yes,
                    absent: .words("the table is trueup's own"),
                    "how your own table of one-time purchases in url is read and written; "
                        + "docs/mappings/README.md"),
                Setting(
                    "entitlements", \.company.entitlements, .optional(.tableName), newPass: .no,
                    absent: .words("in trueup's database alone"), example: "entitlements",
                    "your table in url in which every run keeps what your customers may use; "
                        + "docs/entitlements.md"),
                Setting(
                    "timeout", \.company.timeoutMilliseconds, .optional(.duration), newPass: .no,
                    absent: .words("`30s`"), example: "60s",
                    "how long an answer of a store program is waited for; docs/store-programs.md"),
                Setting(
                    "environment", \.company.variables, .optional(.variableNames), newPass: .no,
                    absent: .words("only harmless ones"), example: "[AWS_REGION]",
                    "the variables that a store program gets; docs/store-programs.md"),
                Setting(
                    "max_load", \.company.maxLoad, .optional(.loadLimit), newPass: .no,
                    absent: .words("no limit"),
                    "a run pauses while the query's number is above the limit; docs/database.md"),
                Setting(
                    "max_lag", \.company.lagMilliseconds, .optional(.duration), newPass: .no,
                    absent: .words("no limit"), example: "10s",
                    "a run pauses while a replica is further behind; docs/database.md"),
            ],
            // Not member by member: earlier versions wrote it so, and what they began continues.
            digested: \.storeDigest, "where rows and bookkeeping are kept"),
        Setting(
            "report",
            [
                Setting(
                    "directory", \.reportDirectory, .reportDirectory, newPass: .no,
                    variable: "TRUEUP_REPORT_DIRECTORY", "the folder with a folder for every run")
            ], "where reports are written"),
        CatalogueFile.setting,
        Setting(
            SettingDescription(
                key: "app_store_connect", form: "keys and values", absence: .below,
                examples: [],
                meaning: "how trueup compare gets and reads sales reports; docs/compare.md",
                nested: SalesSettings.declared.map(\.description)),
            digested: nil
        ) { value, settings throws(ConfigurationError) in
            settings.sales = try SalesSettings(value)
        },
        Setting(
            SettingDescription(
                key: "tell", form: "keys and values", absence: .words("no events"),
                examples: ["{command: [/usr/local/bin/on-correction]}"],
                meaning: "who gets an event for every correction, by a command or over HTTPS; "
                    + "docs/webhooks.md",
                nested: NotifySettings.declared.map(\.description), alias: "notify"),
            digested: nil
        ) { value, settings throws(ConfigurationError) in
            settings.notify = try NotifySettings(
                value, isRehearsal: settings.apps.contains { $0.endpoint.isLoopback })
        },
        Setting(
            "metrics",
            [
                Setting(
                    "directory", \.metricsDirectory, .optional(.path), newPass: .no,
                    absent: .words("no metrics"), example: "/var/lib/prometheus/node-exporter",
                    "the folder where every run leaves trueup-JOB.prom")
            ], "figures for Prometheus; docs/monitoring.md"),
        Setting(
            "ping",
            [
                Setting(
                    "start", \.ping.start, .optional(.webhook), newPass: .no,
                    absent: .words("none"), example: "\"https://ping.example.com/{job}/start\"",
                    "is called when a run begins"),
                Setting(
                    "success", \.ping.success, .optional(.webhook), newPass: .no,
                    absent: .words("none"), example: "\"https://ping.example.com/{job}\"",
                    "is called when a run has exited with 0, or with 5 without the step walk"),
                Setting(
                    "failure", \.ping.failure, .optional(.webhook), newPass: .no,
                    absent: .words("none"), example: "\"https://ping.example.com/{job}/fail\"",
                    "is called when a run has exited with any other status"),
            ],
            "addresses of a service that waits for signs of life; {job} stands for the job's name, {apps} for the run's apps; docs/monitoring.md"
        ),
        Setting(
            SettingDescription(
                key: "message", form: "keys and values", absence: .words("no messages"),
                examples: ["{mail_to: [oncall@example.com]}"],
                meaning: "who gets a message about how a run ended, by a webhook or by mail; "
                    + "docs/alerts.md",
                nested: MessageSettings.declared.map(\.description)),
            digested: nil
        ) { value, settings throws(ConfigurationError) in
            settings.message = try MessageSettings(value)
        },
        Setting(
            "retention", \.retentionMilliseconds, .duration, newPass: .no,
            "bookkeeping older than this is deleted after a run; docs/database.md says what"),
    ]

    package static let descriptions = declared.map(\.description)

    package static let defaultFile = "trueup.yaml"
    /// The environment variable that names the settings file.
    package static let fileVariable = "TRUEUP_CONFIG"

    /// The folder where relative paths and `jobs/` start.
    package var directory: String { SettingsPath.directory(of: file) }

    /// The part of `store` that the settings digest covers.
    private var storeDigest: CanonicalJSON {
        guard let table = company.table else { return .string(databasePath) }
        return .object([
            "url": .string(table.source.url),
            "books": .string(company.booksName.map { "postgres:" + $0 } ?? databasePath),
            "subscriptions": table.mapping.digested,
        ])
    }

    /// The setting that names the file of the job's own books.
    package var databaseKey: String {
        guard company.booksPath != nil else { return "store.url" }
        return company.booksName == nil ? "store.books" : "store.copy"
    }

    /// Where the job's own books are: the path of a file, or the server's URL with their name.
    package var booksURL: String {
        guard let name = company.booksName, let source = company.source else { return databasePath }
        return "\(source.url)#\(name)"
    }

    package var identities: [AppIdentity] { apps.map(\.identity) }
}

/// The settings file, read and checked.
extension Settings {
    /// Which settings file is meant: flag, otherwise environment, otherwise `./trueup.yaml`.
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
        var settings = try Settings(yaml: text, file: file, environment: environment)
        try settings.refuseMissingAuthorities()
        try settings.catalogue?.read()
        return settings
    }

    /// A file of TLS roots that cannot be read: no call could be made, and the error of one would
    /// not say why.
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
        let names = Self.descriptions.flatMap(\.names)
        guard let mapping = try SettingsMapping(yaml: yaml, file: file, keys: names) else {
            throw ConfigurationError(
                file: file, line: 1, key: "apps", problem: "is missing: the file is empty",
                suggestion: "\"trueup init\" writes a commented one elsewhere to start from")
        }
        self.init()
        self.file = file
        do throws(ConfigurationError) {
            try mapping.read(Self.declared, into: &self)
            try complete(under: environment)
        } catch {
            // Before anything that is wrong with a mapping for a database that cannot be opened.
            if !PostgresConnector.isBuiltIn, PostgresAddress.isURL(databasePath) {
                throw ConfigurationError(
                    file: file, line: nil, key: "store.url",
                    problem: "names a PostgreSQL database, and this trueup was built without it",
                    suggestion: PostgresConnector.installation)
            }
            guard !MySQLConnector.isBuiltIn, MySQLAddress.isURL(databasePath) else { throw error }
            throw ConfigurationError(
                file: file, line: nil, key: "store.url",
                problem: "names a MySQL or MariaDB database, and this trueup was built without it",
                suggestion: MySQLConnector.installation)
        }
    }

    /// Checks the rules that concern all settings of the file, and variables.
    private mutating func complete(
        under environment: [String: String]
    ) throws(ConfigurationError) {
        for setting in Self.declared.flatMap({ [$0] + $0.nested }) {
            guard let name = setting.description.variable, let text = environment[name],
                !text.isEmpty
            else { continue }
            try setting.read(SettingsValue(text, ofVariable: name), &self)
        }
        if !CompanySettings.isElsewhere(databasePath) {
            databasePath = SettingsPath.resolve(databasePath, from: directory)
        }
        try company.complete(
            url: &databasePath, in: directory, file: file, environment: environment)
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

/// Paths that the environment may give as well: they are resolved when both are read.
extension SettingForm where Value == String {
    static var reportDirectory: SettingForm {
        SettingForm(
            "path", display: .path, examples: ["other"],
            read: { value throws(ConfigurationError) in try value.text("a path") },
            written: { $0 })
    }

    static var storeURL: SettingForm {
        SettingForm(
            "`sqlite:` and a path, `postgres://`, `mysql://`, or `program:` and a command",
            display: .store,
            examples: ["sqlite:other.sqlite"],
            read: { value throws(ConfigurationError) in
                let example = "write for example sqlite:trueup.sqlite"
                let url = try value.text("a URL")
                let scheme = url.prefix { $0 != ":" }
                guard scheme.count < url.count else {
                    throw value.error("must begin with sqlite:", suggestion: example)
                }
                if CompanySettings.isElsewhere(url) {
                    _ = try CompanySettings.source(url) { value.error($0, suggestion: $1) }
                    return url
                }
                guard scheme == "sqlite" else {
                    // Not repeated whole: a password may be in it.
                    throw value.error(
                        "this version has no store \"\(scheme):\"; supported: sqlite:, postgres:, mysql:, "
                            + "program:",
                        suggestion: example)
                }
                var path = url.dropFirst("sqlite:".count)
                if path.hasPrefix("///") { path = path.dropFirst(2) }
                guard !path.isEmpty, !path.hasPrefix("//"), !path.hasSuffix("/"),
                    path != ":memory:"
                else { throw value.error("must name a file", suggestion: example) }
                return String(path)
            },
            written: { url in
                CompanySettings.isElsewhere(url) ? url : "sqlite:" + url
            })
    }
}

extension SettingForm where Value == [String] {
    static var variableNames: SettingForm {
        SettingForm(
            "list of names of environment variables",
            schema: SettingsSchema.list(of: SettingsSchema.text),
            examples: ["[AWS_REGION]", "[AWS_REGION, AWS_PROFILE]"],
            read: { value throws(ConfigurationError) in
                try value.list().map { entry throws(ConfigurationError) in
                    try entry.variableName(example: "AWS_REGION")
                }
            },
            written: { "[" + $0.joined(separator: ", ") + "]" })
    }
}

extension SettingForm where Value == CompanyTableName {
    static var tableName: SettingForm {
        SettingForm(
            "a table of yours", examples: ["other"],
            read: { value throws(ConfigurationError) in try CompanyTableName(value) },
            written: \.description)
    }
}

extension SettingForm where Value == TableMapping {
    static var tableMapping: SettingForm {
        mapping(
            .subscriptions,
            example: "{table: subs, columns: {original_transaction_id: otid, "
                + "bundle_id: {constant: com.example.app}, "
                + "environment: {constant: production}, customer_id: user_id, status: status}}")
    }

    static var purchaseMapping: SettingForm {
        mapping(
            .purchases,
            example: "{table: orders, columns: {transaction_id: txid, "
                + "bundle_id: {constant: com.example.app}, "
                + "environment: {constant: production}, customer_id: user_id, "
                + "purchase_date: {column: bought_at, form: timestamptz}, "
                + "revocation_date: {column: refunded_at, form: timestamptz}}}")
    }

    private static func mapping(_ table: MappedTable, example: String) -> SettingForm {
        SettingForm(
            "keys and values", schema: SettingsSchema.anyMembers, examples: [example],
            read: { value throws(ConfigurationError) in try TableMapping(table, value) },
            digested: \.digested)
    }
}

/// One digest for everything that a run was told to do, secrets left out.
package enum SettingsDigest {
    /// SHA-256 in lowercase hexadecimal over a canonical rendering of settings, job and filters.
    ///
    /// A pass is only continued by a run with the same one, so whatever changes a check or its
    /// extent is in it. How fast and how long a run asks, with which key and by which way, and whom
    /// it tells, changes neither: whoever raises `max_duration` after a deadline wants to continue,
    /// not to begin again.
    package static func of(
        _ settings: Settings, _ job: JobSettings, mode: RunMode, filters: [String] = []
    ) -> String {
        var digested = JobSettings.declared.digest(of: job)
        digested["name"] = .string(job.name)
        var members = Settings.declared.digest(of: settings)
        // Left out where there is none: what earlier versions left unfinished continues.
        members["catalogue"] = settings.catalogue?.digested
        members["job"] = .object(digested)
        members["mode"] = .string(mode.rawValue)
        members["narrowing"] = .array(filters.map(CanonicalJSON.string))
        let canonical = CanonicalJSON.object(members)
        return SHA256.hash(data: Array(canonical.rendered.utf8)).hexadecimal
    }
}
