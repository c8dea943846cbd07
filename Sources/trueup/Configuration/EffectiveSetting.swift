import Subscriptions
import Yams

/// The value of one setting and where it comes from: for a person who asks why a run does what it does.
///
/// It never holds a secret: the settings files name keys and secrets by file or variable, and an address of a
/// receiver is shown without its path.
struct EffectiveSetting: Hashable, Sendable {
    /// For example `apps[0].bundle_id`.
    var key: String
    /// As one would write it; `nil` where nothing is set.
    var value: String?
    /// The words for a setting that has no value.
    var absence: String?
    var source: Source

    enum Source: Hashable, Sendable {
        case file(String, line: Int?)
        case environment(variable: String)
        case byDefault

        var text: String {
            switch self {
            case .file(let file, let line): line.map { "\(file):\($0)" } ?? file
            case .environment(let variable): "environment, \(variable)"
            case .byDefault: "default"
            }
        }
    }

    var json: CanonicalJSON {
        var members: [String: CanonicalJSON] = ["key": .string(key), "value": .text(value)]
        switch source {
        case .file(let file, let line):
            members["source"] = .string("file")
            members["file"] = .string(file)
            members["line"] = line.map { .integer(Int64($0)) } ?? .null
        case .environment(let variable):
            members["source"] = .string("environment")
            members["variable"] = .string(variable)
        case .byDefault: members["source"] = .string("default")
        }
        return .object(members)
    }
}

extension EffectiveSetting {
    /// Every setting of `trueup.yaml`, in the order of the documentation.
    ///
    /// - Throws: 78 when the file cannot be used.
    static func all(
        of settings: Settings, environment: [String: String]
    ) throws(ConfigurationError) -> [EffectiveSetting] {
        try list(
            Settings.descriptions,
            text: SettingsFile.text(ofFileAt: settings.file, absent: nil),
            file: settings.file, directory: settings.directory, environment: environment)
    }

    /// Every setting of a job.
    ///
    /// - Throws: 78 when the file cannot be used.
    static func all(of job: JobSettings) throws(ConfigurationError) -> [EffectiveSetting] {
        try list(
            JobSettings.descriptions, text: SettingsFile.text(ofFileAt: job.file, absent: nil),
            file: job.file, directory: SettingsPath.directory(of: job.file), environment: [:])
    }

    private static func list(
        _ settings: [SettingDescription], text: String, file: String, directory: String,
        environment: [String: String]
    ) throws(ConfigurationError) -> [EffectiveSetting] {
        try Lister(directory: directory, environment: environment).list(
            settings,
            in: SettingsMapping(yaml: text, file: file, keys: settings.flatMap(\.names)))
    }

    /// Goes through declarations and a file side by side.
    private struct Lister {
        var directory: String
        var environment: [String: String]

        func list(
            _ settings: [SettingDescription], in mapping: SettingsMapping?, below path: String = ""
        ) throws(ConfigurationError) -> [EffectiveSetting] {
            var found: [EffectiveSetting] = []
            for setting in settings { found += try list(setting, in: mapping, below: path) }
            return found
        }

        private func list(
            _ setting: SettingDescription, in mapping: SettingsMapping?, below path: String
        ) throws(ConfigurationError) -> [EffectiveSetting] {
            let written =
                mapping?.value(setting.key) ?? setting.alias.flatMap { mapping?.value($0) }
            let key = written?.key ?? (path.isEmpty ? setting.key : path + "." + setting.key)
            if !setting.nested.isEmpty, setting.absence == .below || written != nil {
                let keys = setting.nested.map(\.key)
                guard setting.isList else {
                    return try list(
                        setting.nested, in: written?.mapping(keys: keys), below: key)
                }
                var found: [EffectiveSetting] = []
                for entry in try written?.list() ?? [] {
                    found += try list(
                        setting.nested, in: entry.mapping(keys: keys), below: entry.key)
                }
                return found
            }
            if let variable = setting.variable, let text = environment[variable], !text.isEmpty {
                return [
                    EffectiveSetting(
                        key: key, value: shown(text, setting),
                        source: .environment(variable: variable))
                ]
            }
            if let written {
                return [
                    EffectiveSetting(
                        key: key, value: shown(written.node.flowText, setting),
                        source: .file(written.file, line: written.line))
                ]
            }
            return [byDefault(setting, key: key)]
        }

        private func byDefault(
            _ setting: SettingDescription, key: String
        ) -> EffectiveSetting {
            var effective = EffectiveSetting(key: key, source: .byDefault)
            switch setting.absence {
            case .value(let text): effective.value = shown(text, setting)
            case .words(let words): effective.absence = words.replacing("`", with: "")
            case .required, .requiredUnless, .below: effective.absence = "none"
            }
            return effective
        }

        private func shown(_ text: String, _ setting: SettingDescription) -> String {
            switch setting.display {
            case .asWritten: text
            case .path:
                SettingsPath.credential(in: text) == nil
                    ? SettingsPath.resolve(text, from: directory) : text
            case .store:
                text.hasPrefix("sqlite:")
                    ? "sqlite:"
                        + SettingsPath.resolve(
                            String(text.dropFirst("sqlite:".count)), from: directory)
                    : text
            case .origin: URLParts(text).map { $0.hasMore ? $0.origin + "/…" : $0.origin } ?? "…"
            }
        }
    }
}

extension Node {
    /// The value on one line, as it could be written.
    fileprivate var flowText: String {
        switch self {
        case .scalar(let scalar): scalar.string
        case .sequence(let entries):
            "[" + entries.map(\.flowText).joined(separator: ", ") + "]"
        case .mapping(let members):
            "{" + members.map { $0.key.flowText + ": " + $0.value.flowText }.joined(separator: ", ")
                + "}"
        case .alias: "*"
        }
    }
}
