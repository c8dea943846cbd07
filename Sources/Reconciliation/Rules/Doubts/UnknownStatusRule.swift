import Subscriptions

extension AllRules {
    /// A status that this version does not know leaves the row undecided (`unknown_status`).
    ///
    /// What it entitles to cannot be guessed; the value is reported as `unknown_value`.
    static let unknownStatus = DoubtRule("UnknownStatusRule") { comparison, _ in
        guard !comparison.stated.status.isKnown else { return nil }
        let difference = comparison.difference(
            .unknownValue, .info, in: .status, cause: "a status that this version does not know",
            isCorrected: false)
        return .undecided(.unknownStatus, [difference])
    }
}
