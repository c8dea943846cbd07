/// A command in the form that a person pastes into a shell.
package enum ShellCommand {
    private static let plain = Set("-_./:=@%+,".unicodeScalars)

    /// The words of a command, each quoted where a POSIX shell would read it as something else.
    ///
    /// - Parameter words: The program and its arguments.
    /// - Returns: One line.
    package static func text(_ words: [String]) -> String {
        words.map(quoted).joined(separator: " ")
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.unicodeScalars.allSatisfy { scalar in
            ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
                || ("0"..."9").contains(scalar) || plain.contains(scalar)
        }
        if isPlain, !word.isEmpty { return word }
        let escaped = word.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + escaped.joined(separator: "'\\''") + "'"
    }
}
