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
            // An optional section is one commented line, with the first of its keys.
            if let example = setting.exampleOfOptionalSection {
                yaml.line(margin: "# ", setting.key, example, comment: setting.comment)
                continue
            }
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

/// The lines of a settings or job file, with what each setting means beside it.
struct CommentedYAML {
    private(set) var text: String
    /// Where comments begin, and how far they go.
    private static let (commentColumn, width) = (30, 110)

    init(heading: String) { text = heading + "\n" }

    mutating func gap() { text += "\n" }

    /// A line `key: value  # comment` behind a margin; a long comment goes on below itself.
    mutating func line(margin: String = "", _ key: String, _ value: String?, comment: String?) {
        var line = margin + key + ":" + (value.map { " " + $0 } ?? "")
        guard let comment else {
            text += line + "\n"
            return
        }
        let indentation = String(repeating: " ", count: Self.commentColumn)
        line += line.count + 1 < Self.commentColumn ? "" : "  "
        line += indentation.dropFirst(min(line.count, Self.commentColumn)) + "#"
        var isBare = true
        for word in comment.split(separator: " ") {
            if !isBare, line.count + 1 + word.count > Self.width {
                text += line + "\n"
                line = (margin.hasPrefix("#") ? "#" + indentation.dropFirst() : indentation) + "#"
            }
            line += " " + word
            isBare = false
        }
        text += line + "\n"
    }
}

extension SettingDescription {
    /// For a section of which no key has a value by default: one of its keys with an example.
    fileprivate var exampleOfOptionalSection: String? {
        guard absence == .below, let first = nested.first, let example = first.examples.first,
            nested.allSatisfy({ if case .words = $0.absence { true } else { false } })
        else { return nil }
        return "{\(first.key): \(example)}"
    }

    /// Its comment in the files that `trueup init` writes.
    var comment: String {
        var parts = choices.isEmpty ? [] : [choices.joined(separator: " | ")]
        parts.append(meaning)
        return parts.joined(separator: "; ")
    }
}
