/// The settings file that `trueup init` writes: it is read as it stands, and has to be filled in.
///
/// What has no default and is not required is commented out.
package enum SettingsTemplate {
    package static let text: String = {
        let variables = Settings.descriptions.flatMap(\.nested).compactMap(\.variable)
        var yaml = CommentedYAML(
            heading: """
                # Settings of trueup. Relative paths start at this file. Ids need no quotes.
                # Environment variables win over this file: \(variables.joined(separator: ", ")).
                """)
        for setting in Settings.descriptions {
            yaml.gap()
            let isList = setting.absence == .required
            // What only some want is shown in one line, whatever stands below it.
            guard isList || setting.absence == .below else {
                yaml.add(setting)
                continue
            }
            yaml.line(setting.key, nil, comment: setting.comment)
            for (index, below) in setting.nested.enumerated() {
                yaml.add(below, margin: isList ? (index == 0 ? "  - " : "    ") : "  ")
            }
        }
        return yaml.text
    }()
}

extension CommentedYAML {
    fileprivate mutating func add(_ setting: SettingDescription, margin: String = "") {
        switch setting.absence {
        case .required, .requiredUnless:
            line(margin: margin, setting.key, setting.examples.first, comment: setting.comment)
        case .value(let value):
            line(margin: margin, setting.key, value, comment: setting.comment)
        case .words, .below:
            line(
                margin: margin + "# ", setting.key, setting.examples.first,
                comment: setting.comment)
        }
    }
}
