import Testing
import trueup

/// One declared key, and settings in which it alone is another.
struct DeclaredSetting: Sendable, CustomTestStringConvertible {
    /// `trueup.yaml` or a job file.
    enum File: Sendable { case settings, job }

    let file: File
    /// For example `apps.key_id`.
    let path: [String]
    let description: SettingDescription

    var name: String { path.joined(separator: ".") }
    var testDescription: String { name }

    /// Every key that has a value of its own.
    static let all =
        leaves(of: Settings.descriptions, .settings) + leaves(of: JobSettings.descriptions, .job)

    private static func leaves(
        of settings: [SettingDescription], _ file: File, below path: [String] = []
    ) -> [DeclaredSetting] {
        settings.flatMap { setting in
            let path = path + [setting.key]
            return setting.nested.isEmpty
                ? [DeclaredSetting(file: file, path: path, description: setting)]
                : leaves(of: setting.nested, file, below: path)
        }
    }

    /// What a run was told: both files, read.
    struct Told: Hashable {
        var settings: Settings
        var job: JobSettings

        var digest: String { SettingsDigest.of(settings, job, mode: job.mode) }
    }

    /// Everything read from files in which this key says something; with `nil` they say no more than
    /// they must.
    func told(_ text: String?) throws -> Told {
        var sections = Self.base(rehearsing: path.first != "tell")
        for (key, value) in Self.surroundings[name] ?? [:] {
            sections[path[0], default: [:]][key] = value
        }
        if file == .settings, let text {
            let section = path.count > 1 ? path[0] : ""
            sections[section, default: [:]][description.key] = text
            for partner in Self.partners[name] ?? [] { sections[section]?[partner] = nil }
            for (key, value) in Self.companions[name] ?? [:] { sections[section]?[key] = value }
        }
        var yaml = ""
        for (section, keys) in sections.sorted(by: { $0.key < $1.key }) {
            let lines = keys.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\n" }
            switch section {
            case "": yaml += lines.joined()
            case "apps": yaml += "apps:\n  - " + lines.joined(separator: "    ")
            default: yaml += "\(section):\n  " + lines.joined(separator: "  ")
            }
        }
        var job = "{}"
        if file == .job, let text {
            job = path.count > 1 ? "\(path[0]): {\(path[1]): \(text)}" : "\(path[0]): \(text)"
        }
        return Told(
            settings: try SettingsText.settings(yaml),
            job: try JobSettings(yaml: job, file: "nightly.yaml"))
    }

    /// Keys that may not stand beside a key.
    private static let partners = [
        "apps.key_file": ["key_env"], "tell.secret_file": ["secret_env"],
        "tell.command": ["url", "secret_env"],
    ]

    private static let table =
        "{table: t, columns: {original_transaction_id: a, bundle_id: {constant: b}, "
        + "environment: {constant: sandbox}, status: s}}"

    /// Keys that must stand beside a key.
    private static let companions = [
        "store.books": ["subscriptions": table],
        "store.subscriptions": ["books": "sqlite:books.sqlite"],
    ]

    /// Keys without which a key means nothing, so that they stand there with it and without it.
    private static let surroundings = [
        "store.copy": [
            "url": "postgres://trueup@127.0.0.1/billing", "subscriptions": table,
        ],
        "store.max_load": [
            "url": "postgres://trueup@127.0.0.1/billing", "subscriptions": table,
        ],
        "store.max_lag": [
            "url": "postgres://trueup@127.0.0.1/billing", "subscriptions": table,
        ],
        "app_store_connect.ca_file": ["endpoint": "https://127.0.0.1:9"],
        "store.purchases": ["books": "sqlite:books.sqlite", "subscriptions": table],
        "store.entitlements": [
            "books": "sqlite:books.sqlite",
            "subscriptions": table.replacing("status:", with: "customer_id: c, status:"),
        ],
    ]

    private static func base(rehearsing isRehearsal: Bool) -> [String: [String: String]] {
        var app = [
            "bundle_id": "com.example.base", "app_apple_id": "7", "environment": "sandbox",
            "issuer_id": "00000000-96fe-1a63-e053-0824d011072a", "key_id": "key", "key_env": "KEY",
        ]
        guard isRehearsal else {
            return [
                "apps": app, "tell": ["url": "https://127.0.0.1/x", "secret_env": "SECRET"],
            ]
        }
        app["endpoint"] = "https://127.0.0.1:9"
        return ["apps": app]
    }
}
