import Subscriptions

/// A list of texts in one column: each on a line of its own.
///
/// Line feeds inside a text become blanks; lists are for names, digests and sentences.
enum TextList {
    private static let lineFeed = UInt8(ascii: "\n")

    static func encode(_ texts: some Sequence<String>) -> String {
        var bytes: [UInt8] = []
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(lineFeed) }
            bytes += text.utf8.lazy.map { $0 == lineFeed ? UInt8(ascii: " ") : $0 }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func decode(_ column: String) -> [String] {
        guard !column.isEmpty else { return [] }
        return column.utf8.split(separator: lineFeed, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The apps of a run in one column: bundle and environment, a line each.
enum AppList {
    static func encode(_ apps: [AppIdentity]) -> String {
        TextList.encode(apps.flatMap { [$0.bundleID, $0.environment.rawValue] })
    }

    static func decode(_ column: String) -> [AppIdentity] {
        let texts = TextList.decode(column)
        return stride(from: 0, to: texts.count - 1, by: 2).compactMap { index in
            AppStoreEnvironment(rawValue: texts[index + 1]).map {
                AppIdentity(bundleID: texts[index], environment: $0)
            }
        }
    }
}

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

/// Send attempts in one column: a line each, UNIX milliseconds, a blank and Apple's result.
enum SendAttemptText {
    static func encode(_ attempts: [SendAttempt]) -> String {
        TextList.encode(attempts.map { "\($0.attemptDate.unixMilliseconds) \($0.result)" })
    }

    static func decode(_ column: String) -> [SendAttempt] {
        TextList.decode(column).compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let milliseconds = Int64(parts[0]) else { return nil }
            return SendAttempt(
                attemptDate: Timestamp(unixMilliseconds: milliseconds), result: String(parts[1]))
        }
    }
}
