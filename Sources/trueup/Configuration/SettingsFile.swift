import FoundationEssentials
import Glibc
package import Subscriptions
import Yams

/// Paths in the settings: relative ones start at the file that names them.
enum SettingsPath {
    /// `path` seen from the folder `directory`, without needless parts.
    static func resolve(_ path: String, from directory: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        var rest = Substring(path)
        while rest.hasPrefix("./") { rest = rest.dropFirst(2).drop { $0 == "/" } }
        if rest.isEmpty || rest == "." { return directory }
        if directory == "." { return String(rest) }
        return directory.hasSuffix("/") ? directory + rest : directory + "/" + rest
    }

    /// Where systemd says in which folder a unit's credentials are.
    static let credentialVariable = "CREDENTIALS_DIRECTORY"

    /// The name of a credential, of a path that is `$CREDENTIALS_DIRECTORY/NAME`.
    static func credential(in path: String) -> String? {
        let beginning = "$" + credentialVariable + "/"
        guard path.hasPrefix(beginning), path.count > beginning.count else { return nil }
        return String(path.dropFirst(beginning.count))
    }

    /// The folder that holds a file: `.` for a bare name.
    static func directory(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// The name of a file without folder and `.yaml`.
    static func stem(of file: String) -> String {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        for ending in [".yaml", ".yml"] where name.hasSuffix(ending) && name.count > ending.count {
            return String(name.dropLast(ending.count))
        }
        return name
    }
}

/// Reads the small files that the settings consist of, and refuses those that every user could
/// change.
enum SettingsFile {
    /// A settings file is a page or two; a mistaken path must not be read whole.
    static let maximumBytes = 1 << 20

    /// The text of a settings or job file.
    ///
    /// - Throws: 78 when it is absent, unreadable, too large, not UTF-8 or writable by every user
    ///   (a user who may write it decides where the token is sent and what is written).
    static func text(
        ofFileAt path: String, absent suggestion: String?
    ) throws(ConfigurationError) -> String {
        let (bytes, status) = try contents(ofFileAt: path, absent: suggestion)
        if status.st_mode & S_IFMT == S_IFREG, status.st_mode & S_IWOTH != 0 {
            throw ConfigurationError(
                file: path, problem: "every user may write this file",
                suggestion: "run: chmod o-w \(path)")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError(
                file: path, problem: "is not UTF-8 text", suggestion: "save it as UTF-8")
        }
        return text
    }

    /// The bytes of a file that the settings name (a certificate), for callers that need them.
    static func bytes(
        ofFileAt path: String, key: String
    ) throws(ConfigurationError) -> [UInt8] {
        do throws(ConfigurationError) {
            return try contents(ofFileAt: path, absent: "put the file there or correct the path")
                .bytes
        } catch {
            var named = error
            named.key = key
            throw named
        }
    }

    private static func contents(
        ofFileAt path: String, absent suggestion: String?
    ) throws(ConfigurationError) -> (bytes: [UInt8], status: stat) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let missing = errno == ENOENT
            throw ConfigurationError(
                file: path,
                problem: missing ? "does not exist" : "cannot be read: \(reason(errno))",
                suggestion: missing ? suggestion : nil)
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            throw ConfigurationError(file: path, problem: "is a folder, not a file")
        }
        let bytes = try bytes(of: descriptor, limit: maximumBytes) {
            ConfigurationError(file: path, problem: $0)
        }
        guard bytes.count <= maximumBytes else {
            throw ConfigurationError(
                file: path, problem: "is larger than \(maximumBytes) bytes and cannot be settings")
        }
        return (bytes, status)
    }

    /// The bytes of an open file; of one that is larger than the limit only some, but more than that.
    ///
    /// - Throws: The error that `refusal` makes of a problem.
    static func bytes(
        of descriptor: Int32, limit: Int, refusal: (String) -> ConfigurationError
    ) throws(ConfigurationError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while bytes.count <= limit {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw refusal("cannot be read: \(reason(errno))") }
            if count == 0 { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        return bytes
    }

    /// Returns the operating system's text for an error.
    static func reason(_ code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

/// A settings file as YAML nodes that still know their lines.
///
/// Nothing is resolved to YAML's own types: `key_id: 0123` and `revocation: off` stay the text that
/// is in the file, and each setting reads its own kind of value from that text.
extension SettingsMapping {
    /// The root of the only document in `text`; `nil` when there is none.
    init?(yaml text: String, file: String, keys: [String]) throws(ConfigurationError) {
        let root: Node?
        do {
            root = try Yams.Parser(yaml: text, resolver: .basic).singleRoot()
        } catch let error as YamlError {
            throw Self.configurationError(error, in: text, file: file)
        } catch {
            throw ConfigurationError(file: file, problem: "is not YAML")
        }
        // A document of `---` alone is as empty as a file of comments.
        guard let root, root.scalar?.string.isEmpty != true else { return nil }
        try self.init(root, file: file, path: "", keys: keys)
    }

    private static func configurationError(
        _ error: YamlError, in text: String, file: String
    ) -> ConfigurationError {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            ConfigurationError(
                file: file, line: mark.line, problem: "is not YAML: \(problem)",
                suggestion: "check the indentation, quotes and colons around this line")
        case .reader(let problem, let offset, _, _):
            ConfigurationError(
                file: file, line: offset.map { line(ofCharacter: $0, in: text) },
                problem: "is not YAML: \(problem)")
        case .duplicatedKeysInMapping(let keys, let context):
            duplicate(keys.first ?? "", firstLine: context.mark.line, in: text, file: file)
        default:
            ConfigurationError(file: file, problem: "is not YAML")
        }
    }

    private static func line(ofCharacter offset: Int, in text: String) -> Int {
        text.prefix(offset).filter { $0 == "\n" }.count + 1
    }

    /// Names the line of the second key where it is written in block style, otherwise of the first.
    private static func duplicate(
        _ key: String, firstLine: Int, in text: String, file: String
    ) -> ConfigurationError {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let indentation = { (line: Substring) in
            line.prefix { $0 == " " || $0 == "-" }.count
        }
        var second: Int?
        if lines.indices.contains(firstLine - 1) {
            let depth = indentation(lines[firstLine - 1])
            second = lines.indices.first { index in
                index >= firstLine && indentation(lines[index]) == depth
                    && lines[index].dropFirst(depth).hasPrefix(key + ":")
            }
        }
        return ConfigurationError(
            file: file, line: second.map { $0 + 1 } ?? firstLine, key: key,
            problem: "is listed twice"
                + (second == nil ? "" : " (first in line \(firstLine))"),
            suggestion: "keep one of them")
    }
}

/// One value of a settings file: reads itself as the kind that its key needs.
struct SettingsValue {
    let node: Node
    let file: String
    /// The whole path of its key, for example `recover.overlap`.
    let key: String
    let line: Int?
    /// Whether the file is refused without the key.
    var isRequired = false

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
        error(
            "must be one of \(names.joined(separator: ", ")), not \"\(text)\"",
            suggestion: text.suggestion(among: names))
    }

    /// Whether it is neither a list nor keys and values.
    var isScalar: Bool { node.scalar != nil }

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

extension SettingsValue {
    /// The value of an environment variable.
    init(_ text: String, ofVariable name: String) {
        self.init(
            node: .scalar(Node.Scalar(text, .implicit, .doubleQuoted)), file: "environment",
            key: name, line: nil)
    }
}

extension Set<UInt8> {
    static var asciiLettersAndDigits: Set<UInt8> {
        Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    }
}

/// A fault in the settings: where, which key, and what to write instead.
///
/// It quotes keys and harmless values, never the contents of a key file or a variable.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file as named by the user, or `environment` for an environment variable.
    package var file: String
    /// Counted from 1; `nil` when the file as a whole is meant.
    package var line: Int?
    /// For example `apps[0].key_file`; `nil` when no key is concerned.
    package var key: String?
    package var problem: String
    /// The advice, as an imperative or a question.
    package var suggestion: String?
    /// `config` (78), or `denied` (77) for a key file that others may read.
    package var status: ExitStatus

    package init(
        file: String, line: Int? = nil, key: String? = nil, problem: String,
        suggestion: String? = nil, status: ExitStatus = .config
    ) {
        self.file = file
        self.line = line
        self.key = key
        self.problem = problem
        self.suggestion = suggestion
        self.status = status
    }

    /// For example `trueup.yaml:7: apps[0].bundel_id: unknown key; did you mean "bundle_id"?`.
    package var description: String {
        var text = file
        if let line { text += ":\(line)" }
        if let key { text += ": \(key)" }
        text += ": \(problem)"
        if let suggestion { text += "; \(suggestion)" }
        return text
    }
}

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
        text.suggestion(among: known) ?? "known here: " + known.joined(separator: ", ")
    }

    /// The value of a key, `nil` when the key is absent.
    func value(_ key: String) -> SettingsValue? { values[key] }

    /// The value of a key that has no default.
    func required(_ key: String, example: String) throws(ConfigurationError) -> SettingsValue {
        guard var value = values[key] else {
            throw error(key, "is missing", suggestion: "add \"\(key): \(example)\"")
        }
        value.isRequired = true
        return value
    }

    /// Refuses a key that stands next to another one which says the same.
    func refuse(_ key: String, nextTo other: String) throws(ConfigurationError) {
        guard values[key] != nil, values[other] != nil else { return }
        throw error(
            key, "cannot be used together with \(other)", suggestion: "keep exactly one of them")
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
