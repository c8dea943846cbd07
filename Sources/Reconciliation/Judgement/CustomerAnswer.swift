import Subscriptions

/// A status answer ready to be asked about single ids, whatever order it came in.
struct CustomerAnswer: Sendable {
    /// One statement for each original transaction id, sorted by it.
    let subscriptions: [StatedSubscription]
    let rejected: [String: RejectedStatement]
    /// Rejected entries that name no usable id.
    let unattributed: [RejectedStatement]
    let unknowns: [UnknownValue]
    private let byID: [String: StatedSubscription]

    /// Of two statements about one id, which Apple never makes, the later signed one counts.
    init(_ answer: StatusAnswer) {
        byID = Dictionary(
            answer.subscriptions.map { ($0.originalTransactionID, $0) },
            uniquingKeysWith: { $0.isBetterThan($1) ? $0 : $1 })
        subscriptions = byID.values.sorted {
            $0.originalTransactionID < $1.originalTransactionID
        }
        rejected = Dictionary(
            answer.rejected.compactMap { entry in
                entry.originalTransactionID.map { ($0, entry) }
            },
            uniquingKeysWith: { $0.sortText < $1.sortText ? $0 : $1 })
        unattributed = answer.rejected.filter { $0.originalTransactionID == nil }
            .sorted { $0.sortText < $1.sortText }
        unknowns = answer.unknowns
    }

    func statement(about id: String) -> StatedSubscription? { byID[id] }

    /// Whether Apple's verified word about the id is in the answer.
    func contains(_ id: String) -> Bool { byID[id] != nil && rejected[id] == nil }

    var isEmpty: Bool { byID.isEmpty && rejected.isEmpty && unattributed.isEmpty }

    /// The subscription that an id was migrated to, on Apple's signed word.
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
    fileprivate var sortText: String { failure.reason.rawValue + (payload?.jws ?? "") }
}
