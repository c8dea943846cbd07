/// HTML as it is written: names are constants of the program, every value is escaped.
///
/// There is no way to put a value into it unescaped: only a `StaticString`, which no value of a run can
/// become, is taken as it is. Values of attributes always stand in double quotes.
struct Markup {
    /// A name, which the program knows, with a value, which may be anybody's.
    struct Attribute {
        let name: StaticString
        let value: String

        init(_ name: StaticString, _ value: String) {
            self.name = name
            self.value = value
        }

        static func named(_ name: String) -> Attribute { Attribute("class", name) }
    }

    private(set) var bytes: [UInt8] = []

    /// An element with what the closure puts into it.
    mutating func element(
        _ name: StaticString, _ attributes: [Attribute] = [], _ content: (inout Markup) -> Void
    ) {
        open(name, attributes)
        content(&self)
        bytes.append(contentsOf: "</\(name)>".utf8)
    }

    /// An element without attributes that holds a text.
    mutating func element(_ name: StaticString, _ text: String) {
        element(name, []) { $0.text(text) }
    }

    /// An element that holds a text.
    mutating func element(_ name: StaticString, _ attributes: [Attribute], _ text: String) {
        element(name, attributes) { $0.text(text) }
    }

    /// An element that holds nothing and is not closed: `meta`, `br`, `rect` in a drawing.
    mutating func void(_ name: StaticString, _ attributes: [Attribute] = []) {
        open(name, attributes)
    }

    /// A shape of a drawing, which is closed at once.
    mutating func shape(_ name: StaticString, _ attributes: [Attribute]) {
        open(name, attributes)
        bytes.append(contentsOf: "</\(name)>".utf8)
    }

    /// What the program itself wrote: the document type, the style.
    mutating func verbatim(_ text: StaticString) {
        bytes.append(contentsOf: text.description.utf8)
    }

    mutating func lineFeed() { bytes.append(0x0A) }

    mutating func text(_ text: String) {
        guard !text.utf8.allSatisfy(Self.isPlain) else {
            bytes.append(contentsOf: text.utf8)
            return
        }
        for scalar in text.unicodeScalars { append(scalar) }
    }

    private mutating func open(_ name: StaticString, _ attributes: [Attribute]) {
        bytes.append(contentsOf: "<\(name)".utf8)
        for attribute in attributes {
            bytes.append(contentsOf: " \(attribute.name)=\"".utf8)
            text(attribute.value)
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: ">"))
    }

    /// Marks that show nothing, or turn the direction of what follows, are written out, as `inspect` does.
    private mutating func append(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "&": bytes.append(contentsOf: "&amp;".utf8)
        case "<": bytes.append(contentsOf: "&lt;".utf8)
        case ">": bytes.append(contentsOf: "&gt;".utf8)
        case "\"": bytes.append(contentsOf: "&quot;".utf8)
        default:
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
                .unassigned:
                bytes.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".utf8)
            default: bytes.append(contentsOf: String(scalar).utf8)
            }
        }
    }

    /// Printable ASCII that HTML takes as it is.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""): false
        default: byte >= 0x20 && byte < 0x7F
        }
    }
}
