import Subscriptions

/// One step of the schema's history.
///
/// A released step is frozen: it describes the past, so it is plain SQL without application types.
/// Only columns that are added to the company's tables follow from their definitions (`AddedColumn`).
/// The number is the database's `user_version` once the step is done.
package struct Migration: Sendable {
    package let number: Int
    package let sql: String

    /// Marks a file as ours (`PRAGMA application_id`): the ASCII codes of `TRUP`.
    package static let applicationID = 0x5452_5550

    /// Every step, in order.
    package static let all = (written + adding(AddedColumn.all)).sorted { $0.number < $1.number }

    private static let written: [Migration] = [
        .subscriptions, .passes, .runs, .ledger, .notifications, .plans, .revocationAnswers,
        .outbox, .evidence, .guards, .causes, .continuations, .lookups, .decisions, .plannedGuards,
        .retention, .turns, .agenda, .quota, .accounts, .renderings,
        .findingJobs, .owedFindings, .controlTotals, .business, .company,
        .otherPayments, .inFlight, .payers, .doubledKeys, .booksCopy,
        .furtherLookups,
    ]

    /// The schema that this version reads and writes.
    package static var newest: Int { all.last?.number ?? 0 }
}
