import HTTPTransport

/// An error without Apple's error body: some proxy or firewall answered, or a server that is down.
///
/// Described so that a person can tell whose it is: status, type and the first words, made safe.
struct ForeignAnswer {
    private static let longestType = 60
    private static let mostWords = 80
    private static let mostBytesRead = 4096

    let response: HTTPResponse

    /// `403 (text/html) "Access denied"`.
    var text: String {
        var text = "\(response.status)"
        let type = Self.plain(response.header("content-type") ?? "").prefix(Self.longestType)
        if !type.isEmpty { text += " (\(type))" }
        if !words.isEmpty { text += " \"\(words)\"" }
        return text
    }

    /// The first words of the body without its markup.
    ///
    /// Whoever stands between may show the request with its token: then nothing is quoted.
    private var words: String {
        let body = String(decoding: response.body.prefix(Self.mostBytesRead), as: UTF8.self)
        guard !body.contains("eyJ"), !body.lowercased().contains("bearer") else { return "" }
        var visible = ""
        var isInTag = false
        for character in body {
            switch character {
            case "<":
                isInTag = true
                visible += " "
            case ">" where isInTag: isInTag = false
            default: if !isInTag { visible.append(character) }
            }
        }
        return String(Self.plain(visible).prefix(Self.mostWords))
    }

    /// One line of what can be seen: no control characters, no changes of direction, one blank
    /// between words.
    private static func plain(_ text: String) -> String {
        let shown = text.unicodeScalars.map { scalar -> Character in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
                .unassigned, .spaceSeparator:
                " "
            default: Character(scalar)
            }
        }
        return String(shown).split(separator: " ").joined(separator: " ")
            .replacing("\"", with: "'")
    }
}
