package import Subscriptions

/// The effective settings: file, environment and defaults merged, every path resolved.
///
/// The initial values are the defaults; paths among them start at the file, too.
package struct Settings: Hashable, Sendable, SettingsSection {
    /// The settings file as named by flag, environment or default.
    package var file = defaultFile
    /// One or several, in the file's order; no two of the same bundle and environment.
    package var apps: [AppSettings] = []
    /// The SQLite file with the job's books, and with the rows or a copy of them.
    package var databasePath = "trueup.sqlite"
    /// Where the rows stand in a table of the company's own.
    package var company = CompanySettings()
    package var reportDirectory = "reports"
    /// Who is notified of corrections; `nil` for nobody.
    package var notify: NotifySettings?
    /// Where every run leaves its metrics; `nil` for nowhere.
    package var metricsDirectory: String?
    /// The addresses that are called when a run begins and when it has ended.
    package var ping = PingSettings()
    /// Whom a run tells how it ended.
    package var message = MessageSettings()
    /// How long bookkeeping is kept: delivered events, inbox notifications, the records of earlier runs.
    package var retentionMilliseconds: Int64 = 400 * Milliseconds.perDay

    static let declared: [Setting<Settings>] = [
        Setting(
            SettingDescription(
                key: "apps", form: "list of keys and values", absence: .required,
                examples: ["[…]"], meaning: "one or several, each with its own quota",
                beginsNewPass: true, nested: AppSettings.declared.map(\.description)),
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
                    "the database, with your rows and the job's own books"),
                Setting(
                    "books", \.company.books, .optional(.booksPlace), newPass: .yes,
                    absent: .words("in `url`"), example: "sqlite:books.sqlite",
                    variable: "TRUEUP_STORE_BOOKS",
                    "the job's own books beside a table of yours: a file, or a name in PostgreSQL"),
                Setting(
                    "copy", \.company.copyPath, .optional(.path), newPass: .no,
                    absent: .words("`\(CompanySettings.defaultCopy)`"),
                    example: "books-copy.sqlite",
                    "where this machine keeps its copy of books in PostgreSQL"),
                Setting(
                    "subscriptions", \.company.mapping, .optional(.tableMapping), newPass: .yes,
                    absent: .words("the table is trueup's own"),
                    "how the table in url that is your own is read and written; "
                        + "docs/mappings/README.md"),
            ],
            // Not member by member: earlier versions wrote it so, and what they began goes on.
            digested: \.storeDigest, "where rows and bookkeeping are kept"),
        Setting(
            "report",
            [
                Setting(
                    "directory", \.reportDirectory, .reportDirectory, newPass: .no,
                    variable: "TRUEUP_REPORT_DIRECTORY", "the folder with a folder for every run")
            ], "where reports are written"),
        Setting(
            SettingDescription(
                key: "tell", form: "keys and values", absence: .words("nobody is told"),
                examples: ["{command: [/usr/local/bin/on-correction]}"],
                meaning: "whom to tell of every correction, by a command or over HTTPS; "
                    + "docs/telling.md",
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
            ], "figures for Prometheus; docs/metrics.md"),
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
                    "is called when a run has ended with 0, or with 5 without the step walk"),
                Setting(
                    "failure", \.ping.failure, .optional(.webhook), newPass: .no,
                    absent: .words("none"), example: "\"https://ping.example.com/{job}/fail\"",
                    "is called when a run has ended with any other status"),
            ],
            "addresses of a service that waits for signs of life; {job} is the job's name; docs/metrics.md"
        ),
        Setting(
            SettingDescription(
                key: "message", form: "keys and values", absence: .words("nobody gets a message"),
                examples: ["{mail_to: [oncall@example.com]}"],
                meaning: "who gets a message of how a run ended, by a webhook or by mail; "
                    + "docs/messages.md",
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

    init() {}

    /// The folder where relative paths and `jobs/` start.
    package var directory: String { SettingsPath.directory(of: file) }

    /// What of `store` the settings digest covers.
    private var storeDigest: CanonicalJSON {
        guard let table = company.table else { return .string(databasePath) }
        return .object([
            "url": .string(table.source.url),
            "books": .string(company.booksName.map { "postgres:" + $0 } ?? databasePath),
            "subscriptions": table.mapping.digested,
        ])
    }

    /// Where the job's own books are: the path of a file, or the server's URL with their name.
    package var booksURL: String {
        guard let name = company.booksName, let source = company.source else { return databasePath }
        return "\(source.url)#\(name)"
    }

    package var identities: [AppIdentity] { apps.map(\.identity) }
}
