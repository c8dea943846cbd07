import Subscriptions

extension Int {
    /// With thousands separators: `12,345`.
    var grouped: String {
        let digits = String(magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0 && (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return (self < 0 ? "-" : "") + text
    }

    /// The number with its noun: `1 row`, `12,345 rows`.
    func of(_ noun: String) -> String { grouped + " " + (self == 1 ? noun : noun + "s") }
}

extension Int64 {
    /// Milliunits as an amount with the currency's decimals: `1,234.56`, in yen `2,697`.
    func amount(in currency: String) -> String {
        let amount = DecimalAmount(milliunits: self, currency: currency)
        return amount.text(units: Int(amount.units).grouped)
    }
}

extension Timestamp {
    /// To the second, for people: `2026-11-20 03:17:04`.
    var readable: String {
        String(rfc3339.prefix { $0 != "." }.map { $0 == "T" ? " " : $0 })
    }

    /// For example `2 h 3 min`, `2 min 36 s`, `0.8 s`.
    func duration(until end: Timestamp) -> String {
        let milliseconds = max(0, end.milliseconds(since: self))
        let seconds = Int(milliseconds / 1000)
        switch seconds {
        case ..<10: return "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
        default: return "\((seconds / 3600).grouped) h \(seconds / 60 % 60) min"
        }
    }
}

extension String {
    /// Safe on a terminal: control characters and marks that turn the direction become blanks.
    var onOneLine: String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar {
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{200E}", "\u{200F}", "\u{2028}",
                "\u{2029}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
                text.append(" ")
            default: text.append(scalar)
            }
        }
        return String(text)
    }

    func padded(to width: Int, atRight: Bool = false) -> String {
        let blanks = String(repeating: " ", count: Swift.max(0, width - count))
        return atRight ? blanks + self : self + blanks
    }

    var withoutTrailingBlanks: String {
        var text = Substring(self)
        while text.last == " " { text.removeLast() }
        return String(text)
    }

    /// The words; what stands between two grave accents is one word.
    private var unbreakableWords: [String] {
        var words: [String] = []
        var isInCommand = false
        for word in onOneLine.split(separator: " ") {
            if isInCommand, let last = words.popLast() {
                words.append(last + " " + word)
            } else {
                words.append(String(word))
            }
            if !word.filter({ $0 == "`" }).count.isMultiple(of: 2) { isInCommand.toggle() }
        }
        // An accent without its other one encloses nothing.
        return isInCommand ? onOneLine.split(separator: " ").map(String.init) : words
    }

    /// Lines of at most so many columns, broken between words; a command is never broken.
    func wrapped(to columns: Int, firstMargin: String = "", margin: String = "") -> [String] {
        var lines: [String] = []
        var line = firstMargin
        var isEmpty = true
        for word in unbreakableWords {
            if !isEmpty && line.count + 1 + word.count > columns {
                lines.append(line)
                line = margin
                isEmpty = true
            }
            line += isEmpty ? word : " " + word
            isEmpty = false
        }
        return lines + [line]
    }
}
