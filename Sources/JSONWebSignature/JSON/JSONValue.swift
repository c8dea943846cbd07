/// A value inside a JSON document.
package struct JSONValue: Sendable {
    let document: JSONDocument
    let index: Int

    private var node: JSONNode { document.nodes[index] }

    private var range: Range<Int> { Int(node.start)..<Int(node.end) }

    package var isNull: Bool { node.kind == .null }

    package var isObject: Bool { node.kind == .object }

    package var isArray: Bool { node.kind == .array }

    package var boolean: Bool? {
        switch node.kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    package var text: String? { textBytes.map { String(decoding: $0, as: UTF8.self) } }

    /// The UTF-8 of a text; without escapes it is a view into the document.
    package var textBytes: ArraySlice<UInt8>? {
        switch node.kind {
        case .text: document.bytes[range]
        case .escapedText: JSONEscape.unescaped(document.bytes[range], in: document.bytes)[...]
        default: nil
        }
    }

    /// A number that is a whole `Int64`, however it is written.
    package var integer: Int64? {
        node.kind == .number ? Self.integer(document.bytes[range], roundsDown: false) : nil
    }

    /// A number as an `Int64`, rounded down: some senders state times with fractions of a
    /// millisecond.
    package var integerRoundedDown: Int64? {
        node.kind == .number ? Self.integer(document.bytes[range], roundsDown: true) : nil
    }

    /// The value as it is in the JSON text.
    package var source: String {
        String(decoding: document.bytes[sourceRange], as: UTF8.self)
    }

    /// How many bytes it has there.
    package var sourceCount: Int { sourceRange.count }

    private var sourceRange: Range<Int> {
        let quotes = node.kind == .text || node.kind == .escapedText ? 1 : 0
        return range.lowerBound - quotes..<range.upperBound + quotes
    }

    /// The elements of an array; empty for anything else.
    package var elements: [JSONValue] { isArray ? children : [] }

    /// The members of an object in their order, duplicates included; empty for anything else.
    package var members: [(name: JSONValue, value: JSONValue)] {
        guard isObject else { return [] }
        var members: [(name: JSONValue, value: JSONValue)] = []
        var child = index + 1
        while child < Int(node.next) {
            members.append(
                (
                    JSONValue(document: document, index: child),
                    JSONValue(document: document, index: child + 1)
                ))
            child = Int(document.nodes[child + 1].next)
        }
        return members
    }

    /// Whether this is exactly the given text, escapes resolved.
    package func isText(_ expected: String) -> Bool { document.isText(expected, at: index) }

    private var children: [JSONValue] {
        var children: [JSONValue] = []
        var child = index + 1
        while child < Int(node.next) {
            children.append(JSONValue(document: document, index: child))
            child = Int(document.nodes[child].next)
        }
        return children
    }
}

extension JSONValue {
    /// The value without the white space between its parts; texts and numbers exactly as they are.
    ///
    /// - Parameter replacing: What is in place of a value, by its path (member names and array
    ///   indexes joined by dots); `nil` keeps it.
    /// - Returns: One line of JSON.
    package func compact(
        replacing: (_ path: String, _ value: JSONValue) -> String? = { _, _ in nil }
    ) -> String {
        var output = ""
        appendCompact(at: "", replacing, to: &output)
        return output
    }

    /// Recursive, because no document is nested deeper than `JWSLimits.jsonDepth`.
    private func appendCompact(
        at path: String, _ replacing: (String, JSONValue) -> String?, to output: inout String
    ) {
        if let replacement = replacing(path, self) {
            output += replacement
        } else if isObject {
            output += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { output += "," }
                output += member.name.source + ":"
                let inner = Self.path(path, member.name.text ?? "")
                member.value.appendCompact(at: inner, replacing, to: &output)
            }
            output += "}"
        } else if isArray {
            output += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { output += "," }
                element.appendCompact(at: Self.path(path, String(index)), replacing, to: &output)
            }
            output += "]"
        } else {
            output += source
        }
    }

    /// The path of a part: for example `data.0.lastTransactions`.
    package static func path(_ path: String, _ part: String) -> String {
        path.isEmpty ? part : path + "." + part
    }
}

/// Converts JSON numbers to integers exactly, without floating point.
extension JSONValue {
    /// The number as an `Int64`.
    ///
    /// - Parameters:
    ///   - text: A number that the scanner has accepted.
    ///   - roundsDown: Whether a fraction is dropped towards negative infinity; otherwise a number
    ///     with a fraction is not an integer.
    /// - Returns: `nil` where it is not an integer or does not fit.
    private static func integer(_ text: ArraySlice<UInt8>, roundsDown: Bool) -> Int64? {
        plainInteger(text) ?? anyInteger(text, roundsDown: roundsDown)
    }

    /// The number where it is digits alone, and few enough to fit: nearly every number is.
    private static func plainInteger(_ text: ArraySlice<UInt8>) -> Int64? {
        guard text.count <= 18 else { return nil }
        var value: Int64 = 0
        for byte in text {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            value = value &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
        }
        return value
    }

    private static func anyInteger(_ text: ArraySlice<UInt8>, roundsDown: Bool) -> Int64? {
        var isNegative = false
        var digits: [UInt8] = []
        var fractionDigits = 0
        var isFraction = false
        var exponent = 0
        var index = text.startIndex
        scan: while index < text.endIndex {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                guard let value = self.exponent(text[(index + 1)...]) else { return nil }
                exponent = value
                break scan
            default:
                digits.append(byte - UInt8(ascii: "0"))
                if isFraction { fractionDigits += 1 }
            }
            index += 1
        }
        return shifted(
            digits, by: exponent - fractionDigits, isNegative: isNegative, roundsDown: roundsDown)
    }

    /// `digits` times ten to the power of `shift`.
    private static func shifted(
        _ digits: [UInt8], by shift: Int, isNegative: Bool, roundsDown: Bool
    ) -> Int64? {
        let wholeCount = digits.count + shift
        var hasFraction = false
        var value: Int64 = 0
        for (index, digit) in digits.enumerated() {
            if index >= wholeCount {
                hasFraction = hasFraction || digit != 0
            } else {
                guard let next = appended(digit, to: value, isNegative: isNegative) else {
                    return nil
                }
                value = next
            }
        }
        if value != 0, shift > 0 {
            for _ in 0..<min(shift, 20) {
                guard let next = appended(0, to: value, isNegative: isNegative) else { return nil }
                value = next
            }
        }
        guard hasFraction else { return value }
        guard roundsDown else { return nil }
        return isNegative ? (value == .min ? nil : value - 1) : value
    }

    private static func appended(_ digit: UInt8, to value: Int64, isNegative: Bool) -> Int64? {
        let (product, overflow) = value.multipliedReportingOverflow(by: 10)
        guard !overflow else { return nil }
        let (sum, overflowToo) =
            isNegative
            ? product.subtractingReportingOverflow(Int64(digit))
            : product.addingReportingOverflow(Int64(digit))
        return overflowToo ? nil : sum
    }

    /// An exponent with more than six digits is larger than that of any integer that fits.
    private static func exponent(_ text: ArraySlice<UInt8>) -> Int? {
        guard text.count <= 7 else { return nil }
        return Int(String(decoding: text, as: UTF8.self))
    }
}
