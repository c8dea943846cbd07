import Subscriptions

extension CanonicalJSON {
    /// Indented, for people: sorted keys, two blanks a level, a line feed at the end.
    var indented: String {
        var output = ""
        append(indentedBy: 0, to: &output)
        return output + "\n"
    }

    private func append(indentedBy level: Int, to output: inout String) {
        let margin = "\n" + String(repeating: "  ", count: level + 1)
        let end = "\n" + String(repeating: "  ", count: level)
        switch self {
        case .array(let values) where !values.isEmpty:
            for (index, value) in values.enumerated() {
                output += (index == 0 ? "[" : ",") + margin
                value.append(indentedBy: level + 1, to: &output)
            }
            output += end + "]"
        case .object(let members) where !members.isEmpty:
            let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for (index, member) in sorted.enumerated() {
                output += (index == 0 ? "{" : ",") + margin
                output += CanonicalJSON.string(member.key).rendered + ": "
                member.value.append(indentedBy: level + 1, to: &output)
            }
            output += end + "}"
        default: output += rendered
        }
    }

    static func integer(_ value: Int) -> CanonicalJSON { .integer(Int64(value)) }

    /// An object of counts; keys are made from the names.
    static func counts<Name: Hashable>(
        _ counts: [Name: Int], by name: (Name) -> String
    ) -> CanonicalJSON {
        .object(
            Dictionary(counts.map { (name($0.key), .integer(Int64($0.value))) }) { _, new in new })
    }
}
