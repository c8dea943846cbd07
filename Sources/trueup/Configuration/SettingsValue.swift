import Subscriptions
import Yams

/// One value of a settings file: reads itself as the kind that its key needs.
struct SettingsValue {
    let node: Node
    let file: String
    /// The whole path of its key, for example `recover.overlap`.
    let key: String
    let line: Int?
    /// Whether the file is refused without the key.
    var isRequired = false

    init(node: Node, file: String, key: String, line: Int?) {
        self.node = node
        self.file = file
        self.key = key
        self.line = line
    }

    /// The value of an environment variable.
    init(_ text: String, ofVariable name: String) {
        self.init(
            node: .scalar(Node.Scalar(text, .implicit, .doubleQuoted)), file: "environment",
            key: name, line: nil)
    }

    func error(_ problem: String, suggestion: String? = nil) -> ConfigurationError {
        ConfigurationError(
            file: file, line: line, key: key, problem: problem, suggestion: suggestion)
    }

    /// The scalar's text as written, whatever YAML would take it for.
    private func scalar(expecting what: String) throws(ConfigurationError) -> Node.Scalar {
        switch node {
        case .scalar(let scalar):
            if scalar.style == .plain, ["", "~", "null", "Null", "NULL"].contains(scalar.string) {
                throw error(
                    "has no value",
                    suggestion: "write \(what)" + (isRequired ? "" : " or leave the key out"))
            }
            return scalar
        case .mapping: throw error("must be \(what), not keys and values")
        case .sequence: throw error("must be \(what), not a list")
        case .alias: throw error("must be \(what), not an alias")
        }
    }

    /// Text without spaces around it and without control characters.
    func text(_ what: String = "a text") throws(ConfigurationError) -> String {
        let text = try scalar(expecting: what).string
        guard !text.isEmpty else { throw error("is empty", suggestion: "write \(what)") }
        guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }),
            text.first != " ", text.last != " "
        else { throw error("has spaces around it or control characters in it") }
        return text
    }

    /// A path; a relative one starts at the settings file.
    func path() throws(ConfigurationError) -> String {
        SettingsPath.resolve(try text("a path"), from: SettingsPath.directory(of: file))
    }

    /// A path as above, or a credential that the service manager hands over.
    func secretPath() throws(ConfigurationError) -> String {
        let written = try text("a path")
        return SettingsPath.credential(in: written) == nil ? try path() : written
    }

    /// The name of an environment variable.
    func variableName(example: String) throws(ConfigurationError) -> String {
        let name = try text("the name of an environment variable")
        guard let first = name.utf8.first, !(0x30...0x39).contains(first),
            name.utf8.allSatisfy({
                $0 == UInt8(ascii: "_") || Character(Unicode.Scalar($0)).isLetter
                    || (0x30...0x39).contains($0)
            })
        else {
            // The text may be the secret itself, pasted into the wrong place: do not repeat it.
            throw error(
                "must be the name of an environment variable",
                suggestion: "write for example \(example)")
        }
        return name
    }

    /// Text of a number: a quoted one is a text, which is another type.
    private func number(_ what: String) throws(ConfigurationError) -> String {
        let scalar = try scalar(expecting: what)
        guard scalar.style == .plain else {
            throw error("must be \(what), not a text", suggestion: "write it without quotes")
        }
        return scalar.string
    }

    func integer(in range: ClosedRange<Int64>) throws(ConfigurationError) -> Int64 {
        let what = "a whole number"
        let text = try number(what)
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let value = Int64(text)
        else { throw error("must be \(what), not \"\(text)\"") }
        guard range.contains(value) else {
            let limit = range.upperBound == .max ? "" : " and at most \(range.upperBound)"
            throw error("must be at least \(range.lowerBound)\(limit), not \(value)")
        }
        return value
    }

    /// A whole number, or `nil` for the word none.
    func integerOrNone(in range: ClosedRange<Int64>) throws(ConfigurationError) -> Int64? {
        try text("a whole number or none") == "none" ? nil : integer(in: range)
    }

    /// A decimal number written plainly: no exponent, no sign, no unit.
    func decimal(_ what: String) throws(ConfigurationError) -> Double {
        let text = try number(what)
        let plain = text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: ".")
        }
        guard plain, let value = Double(text) else {
            let percent = text.hasSuffix("%") ? Double(text.dropLast()) : nil
            throw error(
                "must be \(what), not \"\(text)\"",
                suggestion: percent.map { "did you mean \($0 / 100)?" })
        }
        return value
    }

    /// A part of the whole, 0 to 1.
    func share() throws(ConfigurationError) -> Double {
        let value = try decimal("a share from 0 to 1")
        guard (0...1).contains(value) else {
            throw error(
                "must be a share from 0 to 1, not \(value)",
                suggestion: value <= 100 ? "did you mean \(value / 100)?" : nil)
        }
        return value
    }

    func durationMilliseconds() throws(ConfigurationError) -> Int64 {
        let text = try text("a duration such as 15m, 4h or 7d")
        guard let duration = DurationText(text) else {
            throw error(
                "\"\(text)\" is not a duration", suggestion: DurationText.suggestion(for: text))
        }
        return duration.milliseconds
    }

    /// One of the raw values of an enumeration.
    func choice<Choice: RawRepresentable & CaseIterable>(
        of type: Choice.Type = Choice.self
    ) throws(ConfigurationError) -> Choice where Choice.RawValue == String {
        let names = Choice.allCases.map(\.rawValue)
        let text = try text("one of \(names.joined(separator: ", "))")
        guard let choice = Choice(rawValue: text) else {
            throw unknown(text, among: names)
        }
        return choice
    }

    func unknown(_ text: String, among names: [String]) -> ConfigurationError {
        let suggestion =
            NearestName.suggestion(for: text, among: names).map { "did you mean \"\($0)\"?" }
        return error(
            "must be one of \(names.joined(separator: ", ")), not \"\(text)\"",
            suggestion: suggestion)
    }

    /// The entries of a list, at least one.
    func list() throws(ConfigurationError) -> [SettingsValue] {
        guard case .sequence(let sequence) = node else {
            throw error("must be a list", suggestion: "write [first, second], or \"- \" lines")
        }
        guard !sequence.isEmpty else { throw error("is an empty list") }
        return sequence.indices.compactMap(entry)
    }

    /// One entry of a list; `nil` where there is none.
    func entry(_ index: Int) -> SettingsValue? {
        guard case .sequence(let sequence) = node, sequence.indices.contains(index) else {
            return nil
        }
        let entry = sequence[index]
        return SettingsValue(
            node: entry, file: file, key: "\(key)[\(index)]", line: entry.mark?.line ?? line)
    }

    func mapping(keys: [String]) throws(ConfigurationError) -> SettingsMapping {
        try SettingsMapping(node, file: file, path: key, keys: keys)
    }
}
