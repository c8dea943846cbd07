/// The pages that messages send a reader to, as the package installs them.
///
/// A message is read where no source is: "docs/backup.md" alone would name nothing there.
package enum DocumentationPage {
    package static let backup = place("backup.md")
    package static let database = place("database.md")
    package static let mysql = place("mysql.md")
    package static let postgresql = place("postgresql.md")
    package static let storePrograms = place("store-programs.md")

    private static func place(_ name: String) -> String { "/usr/share/doc/trueup/docs/" + name }
}

extension [String] {
    /// The words of a command as a person pastes it into a shell: one line.
    ///
    /// Each word is quoted where a POSIX shell would read it as something else.
    package var shellCommand: String {
        let plain = Set("-_./:=@%+,".unicodeScalars)
        return map { word in
            let isPlain = word.unicodeScalars.allSatisfy { scalar in
                ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
                    || ("0"..."9").contains(scalar) || plain.contains(scalar)
            }
            if isPlain, !word.isEmpty { return word }
            let escaped = word.split(separator: "'", omittingEmptySubsequences: false)
            return "'" + escaped.joined(separator: "'\\''") + "'"
        }.joined(separator: " ")
    }
}

extension String {
    /// The known name that is nearest to this one, for the suggestion in an error message; `nil` when none is
    /// near enough to be a misspelling of it.
    ///
    /// Near enough is one edit for short names and a third of the length for longer ones. Case is
    /// ignored, and `-` and `_` are equal. Longer names than 64 letters are not compared, which bounds the cost.
    package func nearest(among names: some Sequence<String>) -> String? {
        let longest = 64
        let wanted = folded
        guard !wanted.isEmpty, wanted.count <= longest else { return nil }
        var best: (name: String, distance: Int)?
        for name in names {
            let candidate = name.folded
            guard candidate.count <= longest else { continue }
            let distance = editDistance(wanted, candidate)
            guard distance <= max(1, max(wanted.count, candidate.count) / 3),
                distance < best?.distance ?? .max
            else { continue }
            best = (name, distance)
        }
        return best?.name
    }

    /// The question about the nearest known name, to follow an error message; `nil` when none is near
    /// enough.
    package func suggestion(among names: some Sequence<String>) -> String? {
        nearest(among: names).map { "did you mean \"\($0)\"?" }
    }

    private var folded: [Character] {
        lowercased().map { $0 == "-" || $0 == " " ? "_" : $0 }
    }
}

/// How many letters must be inserted, dropped, replaced or swapped with their neighbour.
private func editDistance(_ left: [Character], _ right: [Character]) -> Int {
    var beforePrevious: [Int] = []
    var previous = Array(0...right.count)
    for (row, letter) in left.enumerated() {
        var current = [row + 1]
        for (column, other) in right.enumerated() {
            var cost = min(
                previous[column + 1] + 1, current[column] + 1,
                previous[column] + (letter == other ? 0 : 1))
            if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                cost = min(cost, beforePrevious[column - 1] + 1)
            }
            current.append(cost)
        }
        beforePrevious = previous
        previous = current
    }
    return previous[right.count]
}
