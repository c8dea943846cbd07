import AppStoreServerAPI
import JSONWebSignature
import Subscriptions

/// A JSON value as an indented page: a member a line, meanings beside it, JWS unfolded in place.
struct InspectedPage {
    private static let widestName = 32

    private let text: InspectionText
    /// What was found of the JWS in it, by path.
    private let layers: [String: InspectedPayload]
    /// Members and values that this version does not know, by path.
    private var unknowns: [String: UnknownValue] = [:]
    private var unsignedParts: Set<String> = []
    private var currency: String?

    /// The page of an unsigned text.
    init(text: InspectionText, layers: [String: InspectedPayload]) {
        self.text = text
        self.layers = layers
    }

    /// The page of a payload.
    init(text: InspectionText, of payload: InspectedPayload, _ document: JSONDocument) {
        self.init(
            text: text,
            layers: Dictionary(
                payload.inner.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first }))
        let prefix = (payload.kind?.modelName ?? "") + "."
        for unknown in payload.unknowns where unknown.field.hasPrefix(prefix) {
            unknowns[String(unknown.field.dropFirst(prefix.count))] = unknown
        }
        unsignedParts = Set(payload.unsignedParts)
        currency = document.root.members.first { $0.name.isText("currency") }?.value.text
    }

    /// Recursive, because no document is nested deeper than `JWSLimits.jsonDepth`.
    func lines(of value: JSONValue, at path: String) -> [String] {
        var entries: [(name: String, value: JSONValue)] = []
        if value.isObject {
            entries = value.members.map { ($0.name.text ?? "", $0.value) }
        } else {
            entries = value.elements.enumerated().map { (String($0), $1) }
        }
        let width = min(
            Self.widestName,
            entries.filter { !isBlock($0.value) }.map { $0.name.count }.max() ?? 0)
        return entries.flatMap { name, value in
            entry(name, value, at: JSONValue.path(path, name), width: width)
        }
    }

    private func isBlock(_ value: JSONValue) -> Bool {
        !value.members.isEmpty || !value.elements.isEmpty
    }

    private func entry(
        _ name: String, _ value: JSONValue, at path: String, width: Int
    ) -> [String] {
        let label = PlainText.of(name)
        let padded = label.padded(to: width)
        if let layer = layers[path] {
            return [label] + text.payload(layer).map { "  " + $0 }
        }
        let isUnknown = unknowns[path]
        if isBlock(value) {
            return [label + (isUnknown == nil ? "" : "  " + text.marked("unknown member"))]
                + lines(of: value, at: path).map { "  " + $0 }
        }
        var line = padded + "  " + shown(value)
        if let meaning = FieldMeaning.of(name, value, currency: currency) {
            line += "  " + text.dimmed(meaning)
        }
        if unsignedParts.contains(path) {
            line += "  " + text.marked("not a JWS: nothing in it could be verified")
        }
        if isUnknown == nil, FieldMeaning.isUnknownCode(name, value) {
            line += "  " + text.marked("unknown value")
        }
        if let isUnknown {
            line += "  " + text.marked(isUnknown.value == nil ? "unknown member" : "unknown value")
        }
        return [line]
    }

    private func shown(_ value: JSONValue) -> String {
        if let text = value.text {
            return text.isEmpty ? "\"\"" : PlainText.of(text)
        }
        return value.compact()
    }
}
