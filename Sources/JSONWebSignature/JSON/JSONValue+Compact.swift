extension JSONValue {
    /// The value without the white space between its parts; texts and numbers exactly as they stand.
    ///
    /// - Parameter replacing: What stands in place of a value, by its path (member names and array
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
