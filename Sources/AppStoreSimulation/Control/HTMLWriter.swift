/// Writes HTML; all text and attributes are escaped, so that values sent by clients cannot be markup.
struct HTMLWriter {
    private(set) var text = ""

    /// An element with content.
    mutating func element(
        _ name: String, class style: String? = nil, _ content: (inout HTMLWriter) -> Void
    ) {
        text += style.map { "<\(name) class=\"\(Self.escaped($0))\">" } ?? "<\(name)>"
        content(&self)
        text += "</\(name)>\n"
    }

    mutating func element(_ name: String, class style: String? = nil, _ content: String) {
        element(name, class: style) { $0.write(content) }
    }

    mutating func write(_ content: String) { text += Self.escaped(content) }

    /// A table; without rows, the sentence `none`.
    mutating func table(_ columns: [String], rows: [[String]], none: String) {
        guard !rows.isEmpty else { return element("p", class: "none", none) }
        element("table") { html in
            html.element("tr") { html in
                for column in columns { html.element("th", column) }
            }
            for row in rows {
                html.element("tr") { html in
                    for cell in row { html.element("td", cell) }
                }
            }
        }
    }

    static func escaped(_ content: String) -> String {
        var output = ""
        for character in content.unicodeScalars {
            switch character {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "'": output += "&#39;"
            case let scalar where scalar.value < 0x20 || scalar.value == 0x7F: output += "\u{FFFD}"
            default: output.unicodeScalars.append(character)
            }
        }
        return output
    }
}
