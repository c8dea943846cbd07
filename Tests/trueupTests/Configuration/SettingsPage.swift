import trueup

/// `docs/settings.md`, made from the declared settings.
enum SettingsPage {
    static let text = """
        # Settings

        Every key of `trueup.yaml` and of a job file. `trueup init` writes both with the same words as comments.

        A flag of the command line wins over the environment, the environment over the file, and the file over the default. A key that is
        unknown, repeated or missing, or a value of the wrong form, exits with status 78. The message names file, line, key and what to
        write instead. Relative paths start at the folder of the file that has them. Ids need no quotes. A duration is a whole number with
        `s`, `m`, `h` or `d`. A share is a part of the whole: 0.05 and not 5%. The [glossary](glossary.md) explains the terms.

        *New checkpoint*: if a run was stopped (by `max_duration`, a signal, a crash), the next one resumes its checkpoint
        ([how soon](delta.md#when-a-run-is-resumed)). The settings with *yes* must be the same. After a change of one of them, the next run
        begins a new checkpoint, and `settings_digest` in `manifest.json` differs.

        ## `trueup.yaml`

        \(table(Settings.descriptions))

        \(sections(Settings.descriptions))

        ## A job file

        `jobs/nightly.yaml` is a file with every key. A file without any key, such as one with comments alone, is a job with every
        default. A file with nothing at all is refused (78): it may have been cut off, and a job with every default corrects rows.

        \(table(JobSettings.descriptions))

        \(sections(JobSettings.descriptions))

        ## The environment

        | variable | instead of |
        |---|---|
        | `\(Settings.fileVariable)` | `./\(Settings.defaultFile)`; `--config` wins over it |
        \(variables)

        The variables that \(variablesOfSecrets) name contain the key, the secrets and
        the address themselves.

        ---

        This page is made from the declarations in `Sources/trueup/Configuration` and `GuardLimits.swift`. A test compares it line by line, and
        `TRUEUP_WRITE_FILES=1 swift test --filter "Files made from the settings"` writes it and `jobs/*.yaml` again.

        """

    private static func table(_ settings: [SettingDescription]) -> String {
        (["| key | may be | default | meaning | new checkpoint |", "|---|---|---|---|---|"]
            + settings.map(row)).joined(separator: "\n")
    }

    private static func row(_ setting: SettingDescription) -> String {
        let absence =
            switch setting.absence {
            case .required: "required"
            case .requiredUnless(let words), .words(let words): words
            case .value(let text): "`\(text)`"
            case .below: "below"
            }
        var meaning = setting.meaning
        if let alias = setting.alias { meaning += "; `\(alias)` is another name of the key" }
        if let variable = setting.variable { meaning += "; `\(variable)` wins over it" }
        let cells = [
            "`\(setting.key)`", setting.form, absence, meaning,
            setting.beginsNewPass ? "yes" : "no",
        ]
        return "| " + cells.joined(separator: " | ") + " |"
    }

    private static func sections(_ settings: [SettingDescription]) -> String {
        settings.filter { !$0.nested.isEmpty }.map { section in
            """
            ### `\(section.key)`: \(section.meaning)

            \(table(section.nested))
            """
        }.joined(separator: "\n\n")
    }

    /// `key_env`, and every other setting that names a variable.
    private static var variablesOfSecrets: String {
        let names = Settings.descriptions.flatMap { section in
            section.nested.map(\.key).filter { $0.hasSuffix("_env") }.map { key in
                "`" + (section.key == "apps" ? "" : section.key + ".") + key + "`"
            }
        }
        return names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
    }

    /// Every variable that takes precedence over a setting.
    static var variableNames: [String] {
        [Settings.fileVariable]
            + Settings.descriptions.flatMap { $0.nested.compactMap(\.variable) }
    }

    private static var variables: String {
        Settings.descriptions.flatMap { section in
            section.nested.compactMap { setting in
                setting.variable.map { "| `\($0)` | `\(section.key).\(setting.key)` |" }
            }
        }.joined(separator: "\n")
    }
}
