/// Why Apple is asked about a subscription, the most urgent reason first (docs/delta.md).
package enum QuestionReason: String, Hashable, Sendable, CaseIterable, Codable,
    CodingKeyRepresentable
{
    /// Apple's notification history holds a newer signed statement that does not agree with the row,
    /// or says nothing of its state.
    case notification
    /// Judged before: its correction was not written, it is undecided, or its customer began or ceased
    /// to pay under another Apple Account since.
    case heldBack = "held_back"
    /// The row's compared values are not those that were judged last: somebody wrote to it.
    case changed
    /// What Apple stated last has ended by itself: an expiry passed, a billing retry day came.
    case clock
    /// The row was never judged.
    case never
    /// Drawn at random among the rows that no other reason names.
    case sample
    /// What Apple stated last is about to be older than the job allows.
    case sweep
    /// Every row is asked about.
    case round

    /// The order in which questions are asked; lower is earlier.
    package var rank: Int64 { Int64(Self.allCases.firstIndex(of: self) ?? 0) }

    package init?(rank: Int64) {
        guard let index = Int(exactly: rank), Self.allCases.indices.contains(index) else {
            return nil
        }
        self = Self.allCases[index]
    }

    /// Whether there is no sign that the row has changed: it is asked about because its turn has
    /// come.
    package var isRoutine: Bool { self == .sample || self == .sweep }

    /// Whether the reason is stored until what follows from the answer is done.
    ///
    /// The others follow from the rows and their check records, and are found again every night.
    package var isDurable: Bool { self == .notification || self == .heldBack }
}
