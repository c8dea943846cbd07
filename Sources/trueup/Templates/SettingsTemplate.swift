/// The settings file that `trueup init` writes: it is read as it is, and has to be filled in.
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

/// The lines of a settings or job file, with what each setting means next to it.
struct CommentedYAML {
    private(set) var text: String
    /// Where comments begin, and how far they go.
    private static let (commentColumn, width) = (30, 110)

    init(heading: String) { text = heading + "\n" }

    mutating func gap() { text += "\n" }

    /// A line `key: value  # comment` behind a margin; a long comment continues below itself.
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

/// The job files that `trueup init` writes: the same bytes as those in the repository's `jobs/`.
package enum JobTemplates {
    /// File name and text, in the order in which they are written.
    package static let all: [(name: String, text: String)] = [
        ("nightly.yaml", nightly), ("backfill.yaml", backfill), ("recover.yaml", recover),
        ("audit.yaml", audit),
    ]

    /// A key of a job file, such as `guards.max_changes`, and what is there.
    ///
    /// The value is `nil` for the default, and for a key with others below it.
    private typealias Line = (path: String, value: String?, comment: String?)

    private static let nightly = text(
        heading: """
            # The nightly job: reads Apple's notifications since the last run, checks the rows that may have
            # changed, and corrects what differs. Every key is optional; these are the defaults.
            """,
        everyKey)

    private static let backfill = text(
        heading: """
            # The first fill: checks every row, with its whole history, starting from a list of ids.
            # It may take several runs: a run that reaches max_duration stops, and the next one continues.
            """,
        [
            ("steps", "[walk]", nil), ("mode", nil, nil), ("coverage", "full", nil),
            ("history", "always", nil),
            (
                "max_duration", "20h",
                "leaves time before the next start if it runs every day"
            ),
            ("fail_on", nil, nil),
            ("guards", nil, "a first fill changes nearly every row; that is its purpose"),
            ("guards.max_changes", "100000000", nil), ("guards.max_change_share", "1.0", nil),
            (
                "guards.max_not_found_share", "0.2",
                "a fifth of unknown ids means the wrong app or environment"
            ),
            ("guards.max_verification_failures", nil, nil),
            ("guards.max_same_direction_share", "1.0", nil),
            (
                "guards.max_excluded_share", "0.2",
                "a fifth of another app's rows means the wrong settings"
            ),
        ])

    private static let recover = text(
        heading: """
            # Gap recovery only: reads Apple's notification history and checks the rows that it names.
            # For the hours after an outage of your notification endpoint, or several times a day.
            # Exit status 5 is a success here: no notification concerned a row that had to be checked.
            """,
        [
            ("steps", "[recover]", nil), ("mode", nil, nil), ("max_duration", "1h", nil),
            ("fail_on", nil, nil), ("recover", nil, nil), ("recover.overlap", nil, nil),
            ("recover.lookback", nil, nil),
            ("recover.inbox", nil, "imported, once received notifications are imported"),
            ("guards", nil, nil), ("guards.max_changes", nil, nil),
            ("guards.max_change_share", nil, nil), ("guards.min_changes", nil, nil),
            ("guards.max_verification_failures", nil, nil),
            ("guards.max_same_direction_share", nil, nil),
        ])

    private static let audit = text(
        heading: """
            # An audit: checks every row and reports, but writes to no subscription row.
            # The report folder has the plan that a nightly job would have applied. Read it;
            # "trueup apply reports/latest" applies exactly this plan.
            """,
        [
            ("steps", nil, nil), ("mode", "check", nil), ("coverage", "full", nil),
            ("history", "always", nil), ("max_duration", "12h", nil), ("fail_on", "low", nil),
            ("recover", nil, nil), ("recover.overlap", nil, nil), ("recover.lookback", nil, nil),
            ("recover.inbox", nil, nil),
        ])

    /// Every setting with its default and what it means.
    private static var everyKey: [Line] {
        JobSettings.descriptions.flatMap { setting in
            [(setting.key, nil, setting.comment)]
                + setting.nested.map { (setting.key + "." + $0.key, nil, $0.comment) }
        }
    }

    /// Puts a job file together from lines that a test checks against the declared settings.
    private static func text(heading: String, _ lines: [Line]) -> String {
        var yaml = CommentedYAML(heading: heading)
        yaml.gap()
        var wasBelow = false
        for line in lines {
            let parts = line.path.split(separator: ".").map(String.init)
            guard let key = parts.last else { continue }
            let setting = description(of: parts)
            let isBelow = parts.count > 1
            if setting?.nested.isEmpty == false || (wasBelow && !isBelow) { yaml.gap() }
            wasBelow = isBelow
            yaml.line(
                margin: String(repeating: "  ", count: parts.count - 1), key,
                line.value ?? setting?.absence.defaultText, comment: line.comment)
        }
        return yaml.text
    }

    private static func description(of path: [String]) -> SettingDescription? {
        var known = JobSettings.descriptions
        var found: SettingDescription?
        for key in path {
            found = known.first { $0.key == key }
            known = found?.nested ?? []
        }
        return found
    }
}
