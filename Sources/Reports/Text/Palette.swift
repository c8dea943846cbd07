/// The few colours of a summary, by what they mean.
enum Ink {
    case plain, heading, good, notable, alarming
}

/// Colours for a terminal, or none.
struct Palette {
    let isColoured: Bool

    /// Colours a text that is padded already: the codes take no column.
    func paint(_ text: String, _ ink: Ink) -> String {
        guard isColoured, let code = ink.code else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}

extension Ink {
    fileprivate var code: String? {
        switch self {
        case .plain: nil
        case .heading: "1"
        case .good: "32"
        case .notable: "33"
        case .alarming: "1;31"
        }
    }
}
