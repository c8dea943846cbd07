import JSONWebSignature

/// Whether payloads that stand together are about one subscription.
///
/// A renewal info names no app, and the id around both is not signed: only this ties them together.
enum CrossCheck {
    static func judgement(on parts: [InspectedPayload], in root: JSONValue) -> Judgement {
        for transaction in parts where transaction.kind == .transaction {
            guard let payload = transaction.payload else { continue }
            let place = parent(of: transaction.path)
            var ids = [originalID(of: payload.root)]
            ids += parts.filter { $0.kind == .renewalInfo && parent(of: $0.path) == place }
                .compactMap(\.payload).map { originalID(of: $0.root) }
            if let entry = root.value(at: place) { ids.append(originalID(of: entry)) }
            guard Set(ids.compactMap(\.self)).count <= 1 else {
                return .invalid(
                    .crossCheck,
                    (place.isEmpty ? "its parts" : "the parts of \(place)")
                        + " name different subscriptions")
            }
        }
        return .valid
    }

    private static func originalID(of value: JSONValue) -> String? {
        value.members.first { $0.name.isText("originalTransactionId") }?.value.text
    }

    private static func parent(of path: String) -> String {
        path.split(separator: ".").dropLast().joined(separator: ".")
    }
}

extension JSONValue {
    /// The value at a path of member names and array indexes; the whole for an empty path.
    fileprivate func value(at path: String) -> JSONValue? {
        var current = self
        for part in path.split(separator: ".") {
            let elements = current.elements
            if let index = Int(part), elements.indices.contains(index) {
                current = elements[index]
            } else if let member = current.members.first(where: { $0.name.isText(String(part)) }) {
                current = member.value
            } else {
                return nil
            }
        }
        return current
    }
}
