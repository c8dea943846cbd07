import Yams

/// A settings file as YAML nodes that still know their lines.
///
/// Nothing is resolved to YAML's own types: `key_id: 0123` and `revocation: off` stay the text
/// that stands in the file, and each setting reads its own kind of value from that text.
enum YAMLDocument {
    /// The root of the only document in `text`; `nil` when there is none.
    static func root(of text: String, file: String) throws(ConfigurationError) -> Node? {
        do {
            let root = try Yams.Parser(yaml: text, resolver: .basic).singleRoot()
            // A document of `---` alone is as empty as a file of comments.
            return root?.scalar?.string.isEmpty == true ? nil : root
        } catch let error as YamlError {
            throw configurationError(error, in: text, file: file)
        } catch {
            throw ConfigurationError(file: file, problem: "is not YAML")
        }
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

    /// Names the line of the second key where it is written in block style, else of the first.
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
            problem: "stands twice"
                + (second == nil ? "" : " (first in line \(firstLine))"),
            suggestion: "keep one of them")
    }
}
