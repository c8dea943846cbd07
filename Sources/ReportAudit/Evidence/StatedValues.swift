import Subscriptions

/// The values of the two signed payloads of a correction, by column, as canonical JSON.
///
/// Written from Apple's documentation of the payloads and docs/columns.md, and not from the code
/// that makes corrections; the time constants below are repeated here for the same reason. Source:
/// App Store Server API, JWSTransactionDecodedPayload and JWSRenewalInfoDecodedPayload;
/// docs/columns.md.
struct StatedValues {
    let transaction: SignedTransaction
    let renewal: SignedRenewal?

    /// When Apple stated it: the earlier of the two signatures.
    var signedDate: Timestamp {
        renewal.map { min(transaction.signedDate, $0.signedDate) } ?? transaction.signedDate
    }

    /// A column's value in the table `subscriptions`; `nil` where no payload states it: the
    /// customer and `paid_elsewhere_until` are the company's, and the status is not signed.
    func subscriptionValue(of column: String) -> CanonicalJSON? {
        switch column {
        case "original_transaction_id": .string(transaction.originalTransactionID)
        case "bundle_id": .text(transaction.bundleID)
        case "environment": .text(transaction.environment)
        case "app_account_token": .text(transaction.appAccountToken)
        case "product_id": .text(transaction.productID)
        case "expires_date": .time(transaction.expiresDate)
        case "revocation_date": .time(transaction.revocationDate)
        case "in_app_ownership_type": .text(transaction.inAppOwnershipType)
        case "latest_transaction_id": .string(transaction.transactionID)
        case "web_order_line_item_id": .text(transaction.webOrderLineItemID)
        case "signed_date": .time(signedDate)
        case "quantity", "revoked_seats": seats(of: column)
        case "renewal_quantity": renewal.map { renewalSeats(in: $0) }
        default: renewal.flatMap { Self.renewalValue(of: column, in: $0) }
        }
    }

    /// The seats that this transaction alone states; `nil` where the period has further transactions,
    /// whose seats are added.
    private func seats(of column: String) -> CanonicalJSON? {
        guard let seats = transaction.seats else { return .null }
        return seats.sharesPeriod ? nil : .integer(ownSeats(of: column))
    }

    /// The part of this transaction in a number of seats.
    func ownSeats(of column: String) -> Int64 {
        guard let seats = transaction.seats else { return 0 }
        if column == "quantity" { return seats.quantity }
        return isWhollyRevoked ? seats.quantity : seats.revoked
    }

    /// One seat says nothing where the transaction has none: the subscription is not a group's.
    private func renewalSeats(in renewal: SignedRenewal) -> CanonicalJSON {
        guard let seats = renewal.renewalQuantity, transaction.seats != nil || seats > 1 else {
            return .null
        }
        return .integer(seats)
    }

    static func renewalValue(of column: String, in renewal: SignedRenewal) -> CanonicalJSON? {
        switch column {
        case "renewal_quantity": renewal.renewalQuantity.map(CanonicalJSON.integer)
        case "grace_period_expires_date": .time(renewal.gracePeriodExpiresDate)
        case "auto_renew_status": .number(renewal.autoRenewStatus)
        case "auto_renew_product_id": .text(renewal.autoRenewProductID)
        default: nil
        }
    }

    /// A column's value in the table `purchases`; the customer is the company's.
    func purchaseValue(of column: String) -> CanonicalJSON? {
        switch column {
        case "customer_id": nil
        case "app_account_token": .text(transaction.appAccountToken)
        case "quantity": .number(transaction.quantity)
        case "revocation_percentage": .number(transaction.revocationPercentage)
        default: periodValue(of: column)
        }
    }

    /// A column's value in the table `transactions`, from the transaction alone.
    func periodValue(of column: String) -> CanonicalJSON? {
        switch column {
        case "transaction_id": .string(transaction.transactionID)
        case "type": .text(transaction.type)
        case "purchase_date": .time(transaction.purchaseDate)
        case "revocation_reason": .number(transaction.revocationReason)
        case "is_upgraded": .integer(transaction.isUpgraded ? 1 : 0)
        case "offer_type": .number(transaction.offerType)
        case "price": .number(transaction.price)
        case "currency": .text(transaction.currency)
        case "latest_transaction_id", "app_account_token": nil
        default: subscriptionValue(of: column)
        }
    }

    /// Returns why an unsigned status contradicts the signed fields; `nil` when it does not.
    ///
    /// Times are compared with the dates of signing. The tolerance is an hour for changes that
    /// Apple records late, a day for early charges, and a minute for different clocks.
    func contradiction(ofStatus status: Int64) -> String? {
        let retries = renewal?.isInBillingRetryPeriod == true
        switch status {
        case 1, 4:
            if isWhollyRevoked { return "the signed transaction is revoked" }
            return status == 1 ? activeContradiction(retries) : graceContradiction(retries)
        case 2:
            if retries { return "the signed renewal info says that Apple keeps trying to charge" }
            return takenAway(end, leaving: Self.minute)
        case 3:
            return retries
                ? takenAway(transaction.expiresDate, leaving: Self.day)
                : takenAway(end, leaving: Self.minute)
        case 5:
            return transaction.revocationDate == nil ? "the signed transaction is not revoked" : nil
        default: return nil
        }
    }

    /// Returns the contradiction that the transaction alone shows, whatever the renewal info next
    /// to it says.
    func contradictionByTransaction(ofStatus status: Int64) -> String? {
        switch status {
        case 1, 4: isWhollyRevoked ? "the signed transaction is revoked" : nil
        case 2, 3: takenAway(transaction.expiresDate, leaving: Self.day)
        case 5: contradiction(ofStatus: status)
        default: nil
        }
    }

    var isWhollyRevoked: Bool {
        transaction.revocationDate != nil && transaction.revocationType != "REFUND_PRORATED"
    }

    /// The end of the paid period, by either payload.
    private var end: Timestamp? {
        [transaction.expiresDate, renewal?.renewalDate].compactMap(\.self).max()
    }

    private var graceIsRunning: Bool {
        guard !isWhollyRevoked, let end = renewal?.gracePeriodExpiresDate else { return false }
        return isAhead(end, by: 0)
    }

    /// Returns why a status without access contradicts the signed fields.
    private func takenAway(_ end: Timestamp?, leaving milliseconds: Int64) -> String? {
        if graceIsRunning { return "the signed grace period continues" }
        guard transaction.revocationDate == nil, !transaction.isUpgraded, let end,
            isAhead(end, by: milliseconds)
        else { return nil }
        return "the signed transaction continues"
    }

    private func activeContradiction(_ retries: Bool) -> String? {
        if graceIsRunning || (end.map { isAhead($0, by: 0) } ?? false) { return nil }
        if retries { return "the signed renewal info says that the charge failed" }
        guard let end else { return nil }
        let hasIntent = renewal?.expirationIntent.map((1...5).contains) ?? false
        return hasIntent || hasPassed(end) ? "the signed transaction has ended" : nil
    }

    private func graceContradiction(_ retries: Bool) -> String? {
        if let graceEnd = renewal?.gracePeriodExpiresDate {
            return hasPassed(graceEnd) ? "the signed grace period has ended" : nil
        }
        guard retries else { return "no grace period and no failed charge is signed" }
        return (end.map { $0.adding(milliseconds: Self.longestGrace) < signedDate } ?? false)
            ? "the signed transaction has ended longer ago than any grace period lasts" : nil
    }

    private func hasPassed(_ end: Timestamp) -> Bool {
        end.adding(milliseconds: Self.hour) < signedDate
    }

    private func isAhead(_ end: Timestamp, by milliseconds: Int64) -> Bool {
        let latest = max(transaction.signedDate, renewal?.signedDate ?? transaction.signedDate)
        return end > latest.adding(milliseconds: milliseconds)
    }

    private static let minute: Int64 = 60 * 1000
    private static let hour: Int64 = 60 * minute
    private static let day: Int64 = 24 * hour
    private static let longestGrace: Int64 = 29 * day
}

extension CanonicalJSON {
    /// `null` for an absent number.
    fileprivate static func number(_ value: (some BinaryInteger)?) -> CanonicalJSON {
        value.map { .integer(Int64($0)) } ?? .null
    }
}

/// The signed fields from which a status follows, found again from the two verified payloads.
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
        func continues(_ end: Timestamp?) -> Bool { end.map { signed < $0 } ?? false }
        let rules: [(holds: Bool, status: Int64, reason: String)] = [
            (values.isWhollyRevoked, 5, "revocationDate is stated"),
            (
                continues(renewal.gracePeriodExpiresDate), 4,
                "gracePeriodExpiresDate is after signedDate"
            ),
            (renewal.isInBillingRetryPeriod ?? false, 3, "isInBillingRetryPeriod is true"),
            (transaction.isUpgraded, 2, "isUpgraded is true"),
            (continues(transaction.expiresDate), 1, "expiresDate is after signedDate"),
            (continues(renewal.renewalDate), 1, "renewalDate is after signedDate"),
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
