import Yams

/// Why a simulated App Store cannot be started.
package enum SimulatorError: Error, Hashable, Sendable, CustomStringConvertible {
    case cannotWrite(path: String, reason: String)
    case cannotRead(path: String, reason: String)
    case certificates(reason: String)
    case cannotListen(reason: String)
    case badOption(String)

    package var description: String {
        switch self {
        case .cannotWrite(let path, let reason): "Cannot write \(path): \(reason)."
        case .cannotRead(let path, let reason): "Cannot read \(path): \(reason)."
        case .certificates(let reason): "Cannot make the throw-away certificates: \(reason)."
        case .cannotListen(let reason): "Cannot listen: \(reason)."
        case .badOption(let text): text
        }
    }
}

extension SimulatorError {
    /// The message of an error, which may come from a decoder.
    static func sentence(of error: any Error) -> String {
        switch error {
        case let error as SimulatorError: error.description
        case DecodingError.dataCorrupted(let context):
            context.underlyingError.map { "\($0)" } ?? context.debugDescription
        case DecodingError.typeMismatch(let type, let context):
            place(context) + "must be \(form(of: type))."
        case DecodingError.valueNotFound(let type, let context):
            place(context) + "has no value; it must be \(form(of: type))."
        case DecodingError.keyNotFound(let key, let context):
            place(context) + "lacks \"\(key.stringValue)\"."
        default: "\(error)"
        }
    }

    private static func place(_ context: DecodingError.Context) -> String {
        let path = context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }
            .joined(separator: ".")
        return path.isEmpty ? "The whole " : "\"\(path)\" "
    }

    /// What must be there; decoders state it as a type of theirs.
    private static func form(of type: Any.Type) -> String {
        let name = "\(type)"
        if name.hasSuffix("Mapping") || name.hasPrefix("Dictionary") {
            return "a mapping, such as name: value"
        }
        if name.hasSuffix("Sequence") || name.hasPrefix("Array") {
            return "a list, such as [value]"
        }
        return switch type {
        case is Bool.Type: "true or false"
        case is String.Type: "a text"
        case is any BinaryInteger.Type: "a whole number"
        case is any BinaryFloatingPoint.Type: "a number"
        default: "of the form \(name)"
        }
    }

    /// The message with the line of the YAML text that it concerns, if that is known.
    static func sentence(of error: any Error, in text: String) -> String {
        let sentence = sentence(of: error)
        guard let line = line(of: error, in: text) else { return sentence }
        return "line \(line): \(sentence)"
    }

    private static func line(of error: any Error, in text: String) -> Int? {
        let path: [any CodingKey]
        switch error {
        case DecodingError.dataCorrupted(let context) where context.underlyingError == nil,
            DecodingError.typeMismatch(_, let context), DecodingError.keyNotFound(_, let context),
            DecodingError.valueNotFound(_, let context):
            path = context.codingPath
        default: return nil
        }
        return SourceLines(of: text)?.line(of: path)
    }
}

/// The lines of the parts of a YAML text.
struct SourceLines {
    private let root: Node

    init?(of text: String) {
        guard let node = try? Yams.compose(yaml: text) else { return nil }
        root = node
    }

    /// The line of the deepest part that a path names.
    func line(of path: [any CodingKey]) -> Int? {
        var node = root
        var line: Int?
        for key in path {
            let next =
                key.intValue.map { child(of: node, at: $0) }
                ?? child(of: node, named: key.stringValue)
            guard let next else { break }
            line = next.line ?? line
            node = next.node
        }
        return line ?? root.mark?.line
    }

    private func child(of node: Node, at index: Int) -> (node: Node, line: Int?)? {
        guard let sequence = node.sequence, sequence.indices.contains(index) else { return nil }
        return (sequence[index], sequence[index].mark?.line)
    }

    private func child(of node: Node, named name: String) -> (node: Node, line: Int?)? {
        guard let found = node.mapping?.first(where: { $0.key.string == name }) else { return nil }
        return (found.value, found.key.mark?.line)
    }
}
