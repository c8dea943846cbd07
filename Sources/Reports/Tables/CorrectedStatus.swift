import FoundationEssentials
import Subscriptions

/// A status that was written on Apple's word, and from which signed fields it follows.
///
/// It is made from the evidence each time it is shown: the ledger entry, and so its hash, does not
/// hold it.
struct CorrectedStatus {
    let entry: LedgerEntry
    let status: Int64
    let basis: Basis

    enum Basis: Equatable {
        case derived(StatusDerivation)
        /// A payload was erased on purpose: what it said cannot be shown.
        case erased
        /// A payload is not held, or cannot be read; `verify` says why that is wrong.
        case missing
    }

    /// `nil` for a correction that states no status.
    init?(_ correction: ReportedCorrection) {
        guard let status = correction.entry.statedStatus else { return nil }
        self.entry = correction.entry
        self.status = status
        switch (correction.transaction, correction.renewal) {
        case (.erased, _), (_, .erased): basis = .erased
        case (.payload(let transaction), .payload(let renewal)):
            let fields = SignedStatusFields(
                transaction: SignedPart(transaction.jws), renewal: SignedPart(renewal.jws))
            basis = fields.map { .derived(StatusDerivation($0)) } ?? .missing
        default: basis = .missing
        }
    }

    /// One sentence for people.
    var sentence: String {
        switch basis {
        case .derived(let derivation): derivation.sentence(forStatus: status)
        case .erased: "status \(status): what Apple signed was erased"
        case .missing: "status \(status): what Apple signed is not held"
        }
    }

    /// The line of `derivations.jsonl`.
    var members: [String: CanonicalJSON] {
        var members: [String: CanonicalJSON] = [
            "app": .string(entry.subscription.bundleID),
            "derivation": .string(sentence),
            "derived_status": .null,
            "environment": .string(entry.subscription.environment),
            "evidence": .string(entry.evidence.hexadecimal),
            "evidence_renewal": .text(entry.evidenceRenewal?.hexadecimal),
            "fields": .null,
            "ledger_entry": .integer(entry.number),
            "original_transaction_id": .string(entry.subscription.originalTransactionID),
            "run_id": .string(entry.runID),
            "status": .integer(status),
        ]
        if case .derived(let derivation) = basis {
            members["derived_status"] = .integer(Int64(derivation.status.rawValue))
            members["fields"] = derivation.fieldsJSON
        }
        return members
    }
}

/// What a status follows from in one of the two payloads, by Apple's names.
///
/// The payload was verified before it was kept; here it is only shown.
private struct SignedPart: Decodable {
    var signedDate: Moment?
    var expiresDate: Moment?
    var renewalDate: Moment?
    var revocationDate: Moment?
    var revocationType: String?
    var isUpgraded: Bool?
    var isInBillingRetryPeriod: Bool?
    var gracePeriodExpiresDate: Moment?

    /// UNIX milliseconds; a fraction of one is dropped.
    struct Moment: Decodable {
        let time: Timestamp?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let number =
                try (try? container.decode(Int64.self))
                ?? Int64(exactly: container.decode(Double.self).rounded(.down))
            time = number.map(Timestamp.init(unixMilliseconds:))
        }
    }

    /// `nil` where the text is no compact JWS with such a payload.
    init?(_ jws: String) {
        let segments = jws.utf8.split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard segments.count == 3 else { return nil }
        var base64 = Data(segments[1].map(Self.standardDigit))
        while base64.count % 4 != 0 { base64.append(UInt8(ascii: "=")) }
        guard let bytes = Data(base64Encoded: base64),
            let part = try? JSONDecoder().decode(SignedPart.self, from: bytes)
        else { return nil }
        self = part
    }

    /// A digit of base64url as base64 writes it (RFC 4648, sections 4 and 5).
    private static func standardDigit(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: digit
        }
    }
}

extension SignedStatusFields {
    /// `nil` where one of the payloads states no date of signing.
    fileprivate init?(transaction: SignedPart?, renewal: SignedPart?) {
        guard let transaction, let renewal, let first = transaction.signedDate?.time,
            let second = renewal.signedDate?.time
        else { return nil }
        self.init(signedDate: max(first, second))
        expiresDate = transaction.expiresDate?.time
        renewalDate = renewal.renewalDate?.time
        revocationDate = transaction.revocationDate?.time
        revocationType = transaction.revocationType
        isUpgraded = transaction.isUpgraded ?? false
        isInBillingRetryPeriod = renewal.isInBillingRetryPeriod
        gracePeriodExpiresDate = renewal.gracePeriodExpiresDate?.time
    }
}
