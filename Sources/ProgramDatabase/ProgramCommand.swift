/// The program of the company's that `store.url` names, with all that it is started with.
package struct ProgramCommand: Hashable, Sendable {
    /// As it is in the settings.
    package let url: String
    /// The program and its arguments; no shell reads them.
    package let arguments: [String]
    /// The folder in which it is started: that of the settings.
    package var directory = "."
    /// Every variable that it gets.
    package var environment: [String: String] = [:]
    /// A variable that the settings name and that is not set.
    package var missingVariable: String?
    /// How long an answer is waited for.
    package var timeoutMilliseconds = Self.defaultTimeoutMilliseconds

    package static let defaultTimeoutMilliseconds: Int64 = 30_000

    /// A URL that names no program.
    package struct Problem: Error {
        package let problem: String
        package let suggestion: String
    }

    private static let scheme = "program:"

    package static func isURL(_ text: String) -> Bool { text.hasPrefix(scheme) }

    /// - Parameter url: `program:` and the words of a command, divided by spaces; quotes keep
    ///   spaces.
    /// - Throws: What is wrong with it.
    package init(url: String) throws(Problem) {
        self.url = url
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in url.dropFirst(Self.scheme.count) {
            switch (quote, character) {
            case (.some(let open), _) where open == character: quote = nil
            case (.some, _): word = (word ?? "") + String(character)
            case (nil, "\""), (nil, "'"):
                quote = character
                word = word ?? ""
            case (nil, " "):
                if let complete = word { words.append(complete) }
                word = nil
            case (nil, _): word = (word ?? "") + String(character)
            }
        }
        if let complete = word { words.append(complete) }
        guard quote == nil else {
            throw Problem(problem: "has a quote without an end", suggestion: "add the other quote")
        }
        guard let program = words.first, !program.isEmpty else {
            throw Problem(
                problem: "must name a program",
                suggestion: "write for example \"program:./my-store --project shop\"")
        }
        arguments = words
    }

    /// The program, as messages name it.
    package var name: String { "`\(arguments.joined(separator: " ").prefix(120))`" }
}
