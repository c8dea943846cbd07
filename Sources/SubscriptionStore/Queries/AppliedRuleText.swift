import Subscriptions

/// The rules of a correction in one column: `kind name version` a line, `-` for no kind.
enum AppliedRuleText {
    static func encode(_ rules: [AppliedRule]) -> String {
        TextList.encode(
            rules.map { "\($0.kind?.rawValue ?? "-") \($0.rule.name) \($0.rule.version)" })
    }

    static func decode(_ column: String) -> [AppliedRule] {
        TextList.decode(column).compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 3, let version = Int(words[2]) else { return nil }
            return AppliedRule(
                kind: FindingKind(rawValue: String(words[0])),
                rule: RuleVersion(name: String(words[1]), version: version))
        }
    }
}
