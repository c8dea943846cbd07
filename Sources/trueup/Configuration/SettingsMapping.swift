import Subscriptions
import Yams

/// One mapping of a settings file, with every key known and none twice.
struct SettingsMapping {
    let file: String
    /// For example `apps[0]`; empty at the root.
    let path: String
    let line: Int?
    private var values: [String: SettingsValue] = [:]

    /// - Throws: 78 when the node is not a mapping, or a key is unknown, doubled or no text.
    init(
        _ node: Node, file: String, path: String, keys: [String]
    ) throws(ConfigurationError) {
        self.file = file
        self.path = path
        self.line = node.mark?.line
        guard case .mapping(let mapping) = node else {
            throw ConfigurationError(
                file: file, line: line, key: path.isEmpty ? nil : path,
                problem: "must be a list of keys and values",
                suggestion: "write for example \"\(keys.first ?? "key"): …\" on a line of its own")
        }
        for (key, value) in mapping {
            try add(key, value, known: keys)
        }
    }

    private mutating func add(
        _ node: Node, _ value: Node, known: [String]
    ) throws(ConfigurationError) {
        let line = node.mark?.line
        guard case .scalar(let scalar) = node else {
            throw ConfigurationError(
                file: file, line: line, key: path.isEmpty ? nil : path,
                problem: "a key must be a plain word")
        }
        let key = scalar.string
        guard known.contains(key) else {
            throw ConfigurationError(
                file: file, line: line, key: fullPath(of: key), problem: "unknown key",
                suggestion: Self.suggestion(for: key, among: known))
        }
        guard values[key] == nil else {
            throw ConfigurationError(
                file: file, line: line, key: fullPath(of: key), problem: "is listed twice",
                suggestion: "keep one of them")
        }
        values[key] = SettingsValue(
            node: value, file: file, key: fullPath(of: key), line: value.mark?.line ?? line)
    }

    private func fullPath(of key: String) -> String { path.isEmpty ? key : path + "." + key }

    static func suggestion(for text: String, among known: [String]) -> String {
        if let nearest = NearestName.suggestion(for: text, among: known) {
            return "did you mean \"\(nearest)\"?"
        }
        return "known here: " + known.joined(separator: ", ")
    }

    /// The value of a key, `nil` when the key is absent.
    func value(_ key: String) -> SettingsValue? { values[key] }

    /// The value of a key that has no default.
    func required(_ key: String, example: String) throws(ConfigurationError) -> SettingsValue {
        guard var value = values[key] else {
            throw ConfigurationError(
                file: file, line: line, key: fullPath(of: key), problem: "is missing",
                suggestion: "add \"\(key): \(example)\"")
        }
        value.isRequired = true
        return value
    }

    /// An error about a key of this mapping, at its value (or one entry of that, where it is a
    /// list) or else at the mapping.
    func error(
        _ key: String, entry: Int? = nil, _ problem: String, suggestion: String? = nil
    ) -> ConfigurationError {
        (entry.flatMap { values[key]?.entry($0) } ?? values[key])?
            .error(problem, suggestion: suggestion)
            ?? ConfigurationError(
                file: file, line: line, key: fullPath(of: key), problem: problem,
                suggestion: suggestion)
    }
}
