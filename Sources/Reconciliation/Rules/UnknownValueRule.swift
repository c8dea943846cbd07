import Subscriptions

extension AllRules {
    /// `unknown_value`: an enumeration value or a field that this version does not know.
    ///
    /// Apple adds some with every release. They change no verdict (an unknown *status* does, by
    /// `unknownStatus`) and are reported so that a person looks at them. One finding for each field
    /// of a row, with the values in `apple_value`.
    ///
    /// Each unknown value comes with the signed payload that contains it, if any.
    static func unknownValues(
        _ unknowns: [(UnknownValue, SignedPayload?)], row: LocalSubscription
    ) -> [Difference] {
        guard !unknowns.isEmpty else { return [] }
        return Dictionary(grouping: unknowns, by: \.0.field)
            .sorted { $0.key < $1.key }
            .map { field, met in
                var finding = Finding(kind: .unknownValue, severity: .info, row: row)
                finding.field = field
                let values = Set(met.compactMap(\.0.value)).sorted()
                finding.appleValue = values.isEmpty ? .null : .text(values.joined(separator: ", "))
                finding.cause = "unknown to this version"
                let payload = met.compactMap(\.1).min {
                    $0.digest.hexadecimal < $1.digest.hexadecimal
                }
                return Difference(finding, payload: payload)
            }
    }
}

extension StatedSubscription {
    /// The unknown values of both payloads, each with its payload.
    var unknownValues: [(UnknownValue, SignedPayload?)] {
        transaction.unknowns.map { ($0, transaction.evidence) }
            + renewal.unknowns.map { ($0, renewal.evidence) }
    }
}
