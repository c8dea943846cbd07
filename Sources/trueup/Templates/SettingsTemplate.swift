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

    private static let nightly = JobTemplate.text(
        heading: """
            # The nightly job: reads Apple's notifications since the last run, checks the rows that may have
            # changed, and corrects what differs. Every key is optional; these are the defaults.
            """,
        JobTemplate.everyKey)

    private static let backfill = JobTemplate.text(
        heading: """
            # The first fill: checks every row, with its whole history, starting from a list of ids.
            # It may take several runs: a run that reaches max_duration stops, and the next one continues.
            """,
        [
            .init("steps", "[walk]"), .init("mode", nil), .init("coverage", "full"),
            .init("history", "always"),
            .init(
                "max_duration", "20h",
                "leaves time before the next start if it runs every day"),
            .init("fail_on", nil),
            .init("guards", nil, "a first fill changes nearly every row; that is its purpose"),
            .init("guards.max_changes", "100000000"), .init("guards.max_change_share", "1.0"),
            .init(
                "guards.max_not_found_share", "0.2",
                "a fifth of unknown ids means the wrong app or environment"),
            .init("guards.max_verification_failures", nil),
            .init("guards.max_same_direction_share", "1.0"),
            .init(
                "guards.max_excluded_share", "0.2",
                "a fifth of another app's rows means the wrong settings"),
        ])

    private static let recover = JobTemplate.text(
        heading: """
            # Gap recovery only: reads Apple's notification history and checks the rows that it names.
            # For the hours after an outage of your notification endpoint, or several times a day.
            # Exit status 5 is a success here: no notification concerned a row that had to be checked.
            """,
        [
            .init("steps", "[recover]"), .init("mode", nil), .init("max_duration", "1h"),
            .init("fail_on", nil), .init("recover", nil), .init("recover.overlap", nil),
            .init("recover.lookback", nil),
            .init("recover.inbox", nil, "imported, once received notifications are imported"),
            .init("guards", nil), .init("guards.max_changes", nil),
            .init("guards.max_change_share", nil), .init("guards.min_changes", nil),
            .init("guards.max_verification_failures", nil),
            .init("guards.max_same_direction_share", nil),
        ])

    private static let audit = JobTemplate.text(
        heading: """
            # An audit: checks every row and reports, but writes to no subscription row.
            # The report folder has the plan that a nightly job would have applied. Read it;
            # "trueup apply reports/latest" applies exactly this plan.
            """,
        [
            .init("steps", nil), .init("mode", "check"), .init("coverage", "full"),
            .init("history", "always"), .init("max_duration", "12h"), .init("fail_on", "low"),
            .init("recover", nil), .init("recover.overlap", nil), .init("recover.lookback", nil),
            .init("recover.inbox", nil),
        ])
}

/// Puts a job file together from lines that are checked against the declared settings by a test.
enum JobTemplate {
    /// A key of a job file and what is there.
    struct Line {
        /// For example `guards.max_changes`.
        let path: String
        /// `nil` for the default, and for a key with others below it.
        let value: String?
        let comment: String?

        init(_ path: String, _ value: String?, _ comment: String? = nil) {
            self.path = path
            self.value = value
            self.comment = comment
        }
    }

    /// Every setting with its default and what it means.
    static var everyKey: [Line] {
        JobSettings.descriptions.flatMap { setting in
            [Line(setting.key, nil, setting.comment)]
                + setting.nested.map { Line(setting.key + "." + $0.key, nil, $0.comment) }
        }
    }

    static func text(heading: String, _ lines: [Line]) -> String {
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
