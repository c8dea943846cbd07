import Subscriptions

/// What a status follows from, found again from the two verified payloads.
///
/// Written from docs/report-files.md, and not from the code that writes `derivations.jsonl`.
struct StatedStatus {
    /// The status that the signed fields alone give.
    let derived: Int64
    /// The fields by Apple's names, in the order of the sentence.
    private let fields: [(name: String, value: CanonicalJSON)]
    private let reason: String

    /// `nil` without a renewal info: periods have no status.
    init?(_ values: StatedValues) {
        guard let renewal = values.renewal else { return nil }
        let transaction = values.transaction
        let signed = max(transaction.signedDate, renewal.signedDate)
        func goesOn(_ end: Timestamp?) -> Bool { end.map { signed < $0 } ?? false }
        let rules: [(holds: Bool, status: Int64, reason: String)] = [
            (
                transaction.revocationDate != nil
                    && transaction.revocationType != "REFUND_PRORATED",
                5, "revocationDate is stated"
            ),
            (
                goesOn(renewal.gracePeriodExpiresDate), 4,
                "gracePeriodExpiresDate is after signedDate"
            ),
            (renewal.isInBillingRetryPeriod ?? false, 3, "isInBillingRetryPeriod is true"),
            (transaction.isUpgraded, 2, "isUpgraded is true"),
            (goesOn(transaction.expiresDate), 1, "expiresDate is after signedDate"),
            (goesOn(renewal.renewalDate), 1, "renewalDate is after signedDate"),
        ]
        let rule = rules.first { $0.holds }
        derived = rule?.status ?? 2
        reason = rule?.reason ?? "expiresDate is not after signedDate"
        fields = [
            ("signedDate", .time(signed)), ("expiresDate", .time(transaction.expiresDate)),
            ("renewalDate", .time(renewal.renewalDate)),
            ("revocationDate", .time(transaction.revocationDate)),
            ("revocationType", .text(transaction.revocationType)),
            ("isUpgraded", .boolean(transaction.isUpgraded)),
            (
                "isInBillingRetryPeriod",
                renewal.isInBillingRetryPeriod.map { .boolean($0) } ?? .null
            ),
            ("gracePeriodExpiresDate", .time(renewal.gracePeriodExpiresDate)),
        ]
    }

    /// The fields as the line states them.
    var object: CanonicalJSON {
        .object(Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first })
    }

    /// The sentence that the line and `corrections.csv` state.
    func sentence(forStatus status: Int64) -> String {
        let listed = fields.map { name, value in
            switch value {
            case .null: "\(name) none"
            case .string(let text): "\(name) \(text)"
            default: "\(name) \(value.rendered)"
            }
        }
        let opening =
            status == derived
            ? "status \(status): "
            : "status \(status) is Apple's unsigned word, which the signed fields do not "
                + "contradict; alone they give \(derived): "
        return opening + reason + " (" + listed.joined(separator: ", ") + ")"
    }
}
