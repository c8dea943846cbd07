package import Subscriptions

/// The examination by which a checkpoint may show that a remembered finding is resolved.
package struct FindingExamination: Hashable, Sendable {
    /// How the checkpoint left a row: checked to a depth, or inserted as Apple states it.
    package enum Row: Hashable, Sendable {
        case checked(ExaminationDepth)
        case inserted
    }

    /// Whether the finding names a row: its own, or the one whose answer could not be verified.
    package var namesRow = true
    /// `nil` where the checkpoint did not come to a result about that row.
    package var row: Row?
    /// Whether the table has that row.
    package var isStored = false
    /// Whether another row holds the same subscription.
    package var hasDuplicates = false
    /// Whether the finding is about the period that the row names as its latest.
    package var isOfLatestPeriod = false
    /// Whether the app's notification history was read to its end.
    package var wasHistoryRead = false
    /// Whether Apple's history shows the finding's notification as delivered by now.
    package var isDelivered = false

    package init() {}
}

/// The new state of each remembered finding at the end of a run, as a pure function.
///
/// In come what is remembered of one finding, how the run lists it, and what the run's checkpoint
/// examined of it; out goes what is remembered from then on. It may be applied twice: what a killed
/// process leaves is done again from the beginning.
package struct FindingLife: Sendable {
    /// Which findings the run may close that it does not list.
    package enum Closing: Hashable, Sendable {
        /// None: the run was stopped, filtered, or worked off a plan.
        case nothing
        /// Those of rows that it inserted.
        case ofInsertedRows
        /// Those that it examined. Those of rows that the table no longer has, if `acceptsTable`: the
        /// guard accepted the table's size, so that the rows will not come back.
        case examined(acceptsTable: Bool)
    }

    /// A finding as the run lists it.
    package struct Listed: Hashable, Sendable {
        package var finding: RememberedFinding
        /// Whether the run repeats it only because no published report has shown it.
        package var isRepeated: Bool

        package init(_ finding: RememberedFinding, isRepeated: Bool = false) {
            self.finding = finding
            self.isRepeated = isRepeated
        }
    }

    private let checkpoint: Int64
    private let closing: Closing

    /// - Parameters:
    ///   - checkpoint: The run's.
    ///   - closing: Which findings it may close.
    package init(checkpoint: Int64, closing: Closing) {
        self.checkpoint = checkpoint
        self.closing = closing
    }

    /// Advances one finding by the run.
    ///
    /// - Parameters:
    ///   - remembered: What was remembered of it; `nil` where it is new.
    ///   - found: How the run lists it: once for each period that it concerns, in the list's order.
    ///   - examined: What the checkpoint examined of it; `nil` where that closes nothing.
    /// - Returns: What is remembered from now on; `nil` where nothing changes.
    package func advance(
        remembered: RememberedFinding?, found: [Listed], examined: FindingExamination?
    ) -> RememberedFinding? {
        var next = remembered
        for line in found { next = enter(line, remembered, next) }
        if let examined, let open = next, open.isOpen, isClosed(open, examined) {
            next?.state = nil
        }
        return next == remembered ? nil : next
    }

    private func enter(
        _ line: Listed, _ remembered: RememberedFinding?, _ before: RememberedFinding?
    ) -> RememberedFinding {
        var next = before ?? line.finding
        next.severity = line.finding.severity
        next.lastSeen = line.finding.lastSeen
        next.state = line.finding.state
        next.correctedBy = line.finding.correctedBy ?? before?.correctedBy
        // What is only repeated stays with the job that found it.
        let staysWhereFound = line.isRepeated && line.finding.state != .corrected
        next.checkpoint =
            staysWhereFound
            ? remembered?.checkpoint ?? line.finding.checkpoint : line.finding.checkpoint
        return next
    }

    private func isClosed(_ finding: RememberedFinding, _ examined: FindingExamination) -> Bool {
        switch closing {
        case .nothing: false
        case .ofInsertedRows: finding.isSettledByInsert(examined)
        case .examined where finding.isAboutNotification:
            examined.isDelivered && finding.checkpoint != checkpoint
        case .examined(let acceptsTable):
            finding.isCovered(by: examined)
                || acceptsTable && !finding.concernsSomething(examined)
        }
    }
}

extension RememberedFinding {
    private var knownKind: FindingKind? { FindingKind(rawValue: kind) }

    /// How much of a row must have been examined to show that the finding is gone.
    ///
    /// A kind that this version does not know counts as one about Apple's statement.
    private var neededDepth: ExaminationDepth { knownKind?.neededExamination ?? .statement }

    fileprivate var isAboutNotification: Bool {
        knownKind == .notificationMissed || knownKind == .notificationLost
    }

    /// Whether a checkpoint that does not state the finding shows that it is gone.
    ///
    /// Until then every report of its job lists it.
    package func isGone(by examined: FindingExamination) -> Bool {
        isCovered(by: examined) || !concernsSomething(examined)
    }

    /// Whether as much was examined as would have shown the finding again.
    ///
    /// What names no row is shown by the notification history.
    fileprivate func isCovered(by examined: FindingExamination) -> Bool {
        guard examined.namesRow else { return examined.wasHistoryRead }
        switch examined.row {
        case nil: return false
        case .inserted: return isSettledByInsert(examined)
        case .checked(let depth):
            // Every status answer shows the price of the latest period; older ones only the history.
            let isLatestPrice = knownKind == .price && examined.isOfLatestPeriod
            return depth >= (isLatestPrice ? min(neededDepth, .statement) : neededDepth)
        }
    }

    /// Whether the checkpoint inserted the finding's row, and that shows that the finding is gone: an
    /// insert rests on Apple's statement, which says nothing about older periods.
    fileprivate func isSettledByInsert(_ examined: FindingExamination) -> Bool {
        examined.row == .inserted && originalTransactionID != nil && neededDepth <= .statement
    }

    /// Whether what the finding is about exists: not once its row is gone, or, where two rows are one
    /// too many, the other one.
    fileprivate func concernsSomething(_ examined: FindingExamination) -> Bool {
        guard examined.namesRow else { return true }
        return switch knownKind {
        case .missingLocally, .purchaseMissing, .purchaseRefundMissed: true
        case .duplicateLocal: examined.hasDuplicates
        default: examined.isStored
        }
    }
}
