/// Puts a job file together from lines that are checked against the declared settings by a test.
enum JobTemplate {
    /// A key of a job file and what stands there.
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
