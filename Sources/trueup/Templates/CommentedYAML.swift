/// The lines of a settings or job file, with what each setting means beside it.
struct CommentedYAML {
    private(set) var text: String
    /// Where comments begin, and how far they go.
    private static let (commentColumn, width) = (30, 110)

    init(heading: String) { text = heading + "\n" }

    mutating func gap() { text += "\n" }

    /// A line `key: value  # comment` behind a margin; a long comment goes on below itself.
    mutating func line(margin: String = "", _ key: String, _ value: String?, comment: String?) {
        var line = margin + key + ":" + (value.map { " " + $0 } ?? "")
        guard let comment else {
            text += line + "\n"
            return
        }
        let indentation = String(repeating: " ", count: Self.commentColumn)
        line += line.count + 1 < Self.commentColumn ? "" : "  "
        line += indentation.dropFirst(min(line.count, Self.commentColumn)) + "#"
        var isBare = true
        for word in comment.split(separator: " ") {
            if !isBare, line.count + 1 + word.count > Self.width {
                text += line + "\n"
                line = (margin.hasPrefix("#") ? "#" + indentation.dropFirst() : indentation) + "#"
            }
            line += " " + word
            isBare = false
        }
        text += line + "\n"
    }
}

extension SettingDescription {
    /// What stands beside it in a file to start from.
    var comment: String {
        var parts = choices.isEmpty ? [] : [choices.joined(separator: " | ")]
        parts.append(meaning)
        if withoutEffect != nil { parts.append("no effect yet") }
        return parts.joined(separator: "; ")
    }
}
