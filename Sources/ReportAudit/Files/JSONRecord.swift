import JSONWebSignature

/// A JSON object with access to its members by name; an object with a duplicate member is refused.
///
/// Unknown members are tolerated, because later versions add some.
struct JSONRecord {
    private let members: [(name: String, value: JSONValue)]
    private let source: [UInt8]?

    /// One JSON text, for example a line.
    init?(_ bytes: [UInt8]) {
        guard let document = try? JSONDocument(bytes) else { return nil }
        self.init(document.root, source: bytes)
    }

    /// A value inside another document.
    init?(_ value: JSONValue?) {
        guard let value else { return nil }
        self.init(value, source: nil)
    }

    private init?(_ value: JSONValue, source: [UInt8]?) {
        guard value.isObject else { return nil }
        var members: [(name: String, value: JSONValue)] = []
        for (name, value) in value.members {
            guard let name = name.text, !members.contains(where: { $0.name.isSame(as: name) })
            else { return nil }
            members.append((name, value))
        }
        self.members = members
        self.source = source
    }

    var names: [String] { members.map(\.name) }

    subscript(name: String) -> JSONValue? {
        members.first { $0.name.isSame(as: name) }?.value
    }

    func text(_ name: String) -> String? { self[name]?.text }

    func integer(_ name: String) -> Int64? { self[name]?.integer }

    /// A nested object.
    func record(_ name: String) -> JSONRecord? { JSONRecord(self[name]) }

    /// Whether a member exists and is not null.
    func states(_ name: String) -> Bool { self[name].map { !$0.isNull } ?? false }

    /// The object's text with its members sorted by name, without one of them.
    ///
    /// Made from the source text of the members, so that it depends on nothing else. None of our
    /// names needs an escape.
    func text(leavingOut dropped: String? = nil) -> String {
        text { $0 != dropped }
    }

    /// The same with the selected members.
    func text(of isWanted: (String) -> Bool) -> String {
        let kept = members.filter { isWanted($0.name) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            // Inside another document, the text around it may be spread over lines.
            .map { "\"\($0.name)\":" + (source == nil ? $0.value.compact : $0.value.source) }
        return "{" + kept.joined(separator: ",") + "}"
    }

    /// Whether the text is canonical JSON, as the writer makes it: sorted members, and not a byte more
    /// than they need.
    ///
    /// Told by lengths: an escape in a name, or white space between members, makes the text longer than
    /// its names and values are.
    var isCanonical: Bool {
        guard let source else { return true }
        var bytes = 1 + max(members.count, 1)
        var previous: String?
        for (name, value) in members {
            if let previous, !previous.utf8.lexicographicallyPrecedes(name.utf8) { return false }
            previous = name
            bytes += name.utf8.count + 3 + value.sourceCount
        }
        return bytes == source.count
    }
}

extension JSONValue {
    /// The value without white space and with sorted names: equal values give equal texts.
    var compact: String {
        if isArray { return "[" + elements.map(\.compact).joined(separator: ",") + "]" }
        guard isObject else { return source }
        let members = members.map { ($0.name.source, $0.value.compact) }
            .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
        return "{" + members.map { "\($0.0):\($0.1)" }.joined(separator: ",") + "}"
    }

    /// Whether two values are the same, an absent one being null.
    static func areSame(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        // What is written in the same way is the same; our own lines nearly always are.
        if let left, let right, left.source.isSame(as: right.source) { return true }
        return (left?.compact ?? "null").isSame(as: right?.compact ?? "null")
    }
}
