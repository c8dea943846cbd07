import Subscriptions

/// A status answer indexed by id, independent of its order.
struct CustomerAnswer: Sendable {
    /// One statement for each original transaction id, sorted by that id.
    let subscriptions: [StatedSubscription]
    let rejected: [String: RejectedStatement]
    /// Rejected entries that name no usable id.
    let unattributed: [RejectedStatement]
    let unknowns: [UnknownValue]

    /// Of two statements about one id, which Apple never sends, the later signed one counts.
    init(_ answer: StatusAnswer) {
        subscriptions = Self.oneForEachID(answer.subscriptions)
        rejected = Dictionary(
            answer.rejected.compactMap { entry in
                entry.originalTransactionID.map { ($0, entry) }
            },
            uniquingKeysWith: { $0.sortKey < $1.sortKey ? $0 : $1 })
        unattributed = answer.rejected.filter { $0.originalTransactionID == nil }
            .sorted { $0.sortKey < $1.sortKey }
        unknowns = answer.unknowns
    }

    private static func oneForEachID(_ stated: [StatedSubscription]) -> [StatedSubscription] {
        guard stated.count > 1 else { return stated }
        return Dictionary(
            stated.map { ($0.originalTransactionID, $0) },
            uniquingKeysWith: { $0.isBetterThan($1) ? $0 : $1 }
        ).values.sorted { $0.originalTransactionID < $1.originalTransactionID }
    }

    func statement(about id: String) -> StatedSubscription? {
        position(of: id).map { subscriptions[$0] }
    }

    /// Whether the answer contains a verified statement about the id.
    func contains(_ id: String) -> Bool { position(of: id) != nil && rejected[id] == nil }

    /// Where the statement about an id stands, by halves: they are sorted by it.
    private func position(of id: String) -> Int? {
        var range = subscriptions.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let found = subscriptions[middle].originalTransactionID
            if found == id { return middle }
            range =
                found < id ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }

    var isEmpty: Bool { subscriptions.isEmpty && !hasRejections }

    /// Whether any entry of the answer was rejected.
    var hasRejections: Bool { !rejected.isEmpty || !unattributed.isEmpty }

    /// The subscription that an id was migrated to, by a signed statement.
    func successor(of id: String) -> StatedSubscription? {
        subscriptions.first {
            $0.transaction.previousOriginalTransactionID == id && $0.originalTransactionID != id
                && rejected[$0.originalTransactionID] == nil
        }
    }
}

extension StatedSubscription {
    fileprivate func isBetterThan(_ other: StatedSubscription) -> Bool {
        (signedDate, transaction.evidence.jws) > (other.signedDate, other.transaction.evidence.jws)
    }
}

extension RejectedStatement {
    /// A failed verification comes before one that could not be completed.
    fileprivate var sortKey: (Int, String) {
        (isUndetermined ? 1 : 0, failure.reason.rawValue + (payload?.jws ?? ""))
    }
}

extension Lookup {
    /// Whether the whole answer is refused.
    var isUnverified: Bool { if case .unverified = self { true } else { false } }

    /// Why a row stays undecided after this lookup; `nil` where it is a definite answer of Apple's.
    ///
    /// Other refusals of the question say nothing about the subscription.
    var undecidedReason: UndecidedReason? {
        switch self {
        case .rateLimited: .rateLimited
        case .unavailable, .internalFault, .refused, .restart: .unavailable
        case .undecodable: .undecodable
        case .unverified(let rejected):
            rejected.isUndetermined ? .unavailable : .verificationFailed
        case .answered, .transactionNotFound, .accountNotFound, .invalidID: nil
        }
    }
}
