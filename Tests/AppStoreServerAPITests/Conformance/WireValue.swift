import JSONWebSignature
import Subscriptions
import TestSupport

/// A value of a model as it stands on the wire, found by a path such as `data.items.0.SKU`.
///
/// Properties bear Apple's member names, so that a model can be walked by reflection.
struct WireValue: CustomStringConvertible {
    private let value: Any?

    init(_ value: Any?) {
        self.value = value.flatMap(Self.unwrapped)
    }

    var description: String { value.map { "\($0)" } ?? "absent" }

    var isAbsent: Bool { value == nil }

    func at(_ path: String) -> WireValue {
        var current = self
        for part in path.split(separator: ".") { current = current.child(String(part)) }
        return current
    }

    /// Whether this is the expected value: null means absent, UUIDs are compared without case.
    func equals(_ expected: JSONValue) -> Bool {
        if expected.isNull { return isAbsent }
        if let json = value as? JSONValue {
            if json.isArray {
                return WireValue(json.elements as [Any]).equals(expected)
            }
            return json.source == expected.source
                || json.text.map { Self.areEqual($0, expected.text) } == true
                || (expected.integer != nil && json.integerRoundedDown == expected.integer)
        }
        switch value {
        case let text as String: return Self.areEqual(text, expected.text)
        case let bytes as ArraySlice<UInt8>:
            return String(decoding: bytes, as: UTF8.self) == expected.text
        case let number as Int: return expected.integer == Int64(number)
        case let number as Int64: return expected.integer == number
        case let flag as Bool: return expected.boolean == flag
        case let moment as Timestamp: return expected.integer == moment.unixMilliseconds
        case let values as [Any]:
            return values.count == expected.elements.count
                && zip(values, expected.elements).allSatisfy { Self($0).matchesElement($1) }
        default: return false
        }
    }

    /// An element of a list may be an object of which only the named members are compared.
    private func matchesElement(_ expected: JSONValue) -> Bool {
        guard expected.isObject else { return equals(expected) }
        return expected.members.allSatisfy { at($0.name.text ?? "").equals($0.value) }
    }

    private func child(_ name: String) -> WireValue {
        if let json = value as? JSONValue {
            if name == "#count" { return WireValue(json.elements.count) }
            if let index = Int(name) {
                return WireValue(json.elements.indices.contains(index) ? json.elements[index] : nil)
            }
            let member = json.member(name)
            return WireValue(member?.isNull == true ? nil : member)
        }
        if let values = value as? [Any] {
            if name == "#count" { return WireValue(values.count) }
            return WireValue(Int(name).flatMap { values.indices.contains($0) ? values[$0] : nil })
        }
        guard let value else { return self }
        return WireValue(Mirror(reflecting: value).children.first { $0.label == name }?.value)
    }

    private static func areEqual(_ text: String, _ expected: String?) -> Bool {
        guard let expected else { return false }
        if text.utf8.elementsEqual(expected.utf8) { return true }
        let isUUID = expected.utf8.count == 36 && expected.split(separator: "-").count == 5
        return isUUID && text.lowercased() == expected.lowercased()
    }

    private static func unwrapped(_ value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first.flatMap { unwrapped($0.value) }
    }
}
