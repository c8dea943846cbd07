import Reconciliation
package import Subscriptions

/// Reads one window of an app's notification history: a short one page after page, a long one in
/// slices side by side.
///
/// The first page tells whether there is more than one; if so it comes again in a slice. Slices
/// overlap, so the caller must accept a notification that comes twice.
struct NotificationReading {
    private let appStore: any AppStore
    private let context: RunContext
    private var windows: [NotificationWindow]
    private var sweeps = [NotificationSweep()]
    private var isBegun = false

    /// How many notifications were read.
    private(set) var notifications = 0
    /// How many of them could not be checked, because revocation could not be learned.
    private(set) var undetermined = 0
    /// How many of them did not verify.
    private(set) var unverifiable = 0
    /// The reason why a part could not be read, if so.
    private(set) var failure: (why: String, mayComeLater: Bool)?
    /// The reason to end the whole run, if there is one.
    private(set) var end: RunEnd?

    init(appStore: any AppStore, context: RunContext, window: NotificationWindow) {
        self.appStore = appStore
        self.context = context
        windows = [window]
    }

    /// - Parameter take: Called with one page after the other; the first error ends the reading.
    mutating func run(
        _ take: (NotificationPage) async throws -> Void
    ) async {
        await withTaskGroup(of: Answer.self) { group in
            ask(0, in: &group)
            while let answer = await group.next() {
                switch answer.result {
                case .failure(let stop): end = end ?? RunEnd(stop)
                case .success(let lookup):
                    do {
                        for slice in try await note(lookup, of: answer.slice, take) {
                            ask(slice, in: &group)
                        }
                    } catch {
                        end = end ?? RunEnd(thrown: error)
                    }
                }
                // Do not wait for a call, or a pause of the quota, whose result is no longer
                // needed.
                if end != nil { group.cancelAll() }
            }
        }
    }

    private typealias Answer = (slice: Int, result: Result<Lookup<NotificationPage>, RunStop>)

    /// Asks for the next page of a slice, unless the reading is over.
    private mutating func ask(_ slice: Int, in group: inout TaskGroup<Answer>) {
        end = end ?? context.reasonToEnd
        guard end == nil, failure == nil else { return }
        let (window, token) = (windows[slice], sweeps[slice].paginationToken)
        group.addTask { [appStore] in
            do throws(RunStop) {
                let lookup = try await appStore.notificationHistory(
                    in: window, paginationToken: token)
                return (slice, .success(lookup))
            } catch {
                return (slice, .failure(error))
            }
        }
    }

    /// Takes an answer; the slices of which another page must be asked for.
    private mutating func note(
        _ lookup: Lookup<NotificationPage>, of slice: Int,
        _ take: (NotificationPage) async throws -> Void
    ) async throws -> [Int] {
        context.tally.note(lookup)
        guard case .answered(let page) = lookup else { return next(lookup, of: slice) }
        if !isBegun {
            isBegun = true
            if page.hasMore, divide() { return Array(windows.indices) }
        }
        try await take(page)
        notifications += page.notifications.count
        let undeterminedHere = page.rejected.count(where: \.isUndetermined)
        undetermined += undeterminedHere
        unverifiable += page.rejected.count - undeterminedHere
        context.progress(RunProgress(stage: .recover, done: notifications))
        return next(lookup, of: slice)
    }

    private mutating func next(_ lookup: Lookup<NotificationPage>, of slice: Int) -> [Int] {
        switch sweeps[slice].pageArrived(lookup) {
        case .nextPage: return [slice]
        case .finished: return []
        case .gaveUp(let why):
            failure = failure ?? (why, lookup.mayComeLater)
            return []
        }
    }

    /// Divides a window that is long enough.
    private mutating func divide() -> Bool {
        let slices = windows[0].slices
        guard slices.count > 1 else { return false }
        windows = slices
        sweeps = slices.map { _ in NotificationSweep() }
        return true
    }
}

extension NotificationWindow {
    /// A day each, at most 64, together the whole window.
    ///
    /// Neighbours overlap by a millisecond or two, because Apple does not say whether a window
    /// contains its first and its last.
    package var slices: [NotificationWindow] {
        let length = max(0, end.milliseconds(since: start))
        let count = min(64, max(1, (length - 1) / Milliseconds.perDay + 1))
        return (0..<count).map { index in
            NotificationWindow(
                start: start.adding(milliseconds: length / count * index),
                end: index == count - 1
                    ? end : start.adding(milliseconds: length / count * (index + 1) + 1))
        }
    }
}

extension RecoverStep {
    /// Sorts the subscriptions that notifications name: those whose row agrees with the signed
    /// statement in the notification are settled by it, without a call; about the others Apple must be
    /// asked.
    ///
    /// Where `isFirst` says that no run has read this app's history to its end yet, a notification
    /// settles no row that was never checked: Apple's answer about a customer shows subscriptions that
    /// the table lacks, and a notification does not.
    func sortSubscriptions(
        of notifications: [RecordedNotification], isFirst: Bool
    ) async throws -> (settled: [RowOutcome], pending: [NewQuestion]) {
        let newest = Self.newest(of: notifications)
        let rows = try await context.rows.rows(holding: Array(newest.keys))
        let held = Dictionary(
            keepingFirst: rows.filter { app.owns($0.row.key) }.map {
                ($0.row.key.originalTransactionID, $0)
            })
        let policy = context.policyOfNow
        var settled: [RowOutcome] = []
        var pending: [NewQuestion] = []
        for (id, notification) in newest {
            let row = held[id]
            if let row, Self.isPast(notification, for: row) { continue }
            if let row, let outcome = agreement(of: row, with: notification, policy: policy) {
                if row.check != nil || !isFirst { settled.append(outcome) }
                continue
            }
            pending.append(
                NewQuestion(
                    key: SubscriptionKey(app: app, originalTransactionID: id),
                    restsOn: notification.statedDate,
                    isEntitling: row?.row.isEntitling ?? false))
        }
        return (settled.sorted { $0.key < $1.key }, pending.sorted { $0.key < $1.key })
    }

    private static func newest(
        of notifications: [RecordedNotification]
    ) -> [String: RecordedNotification] {
        var newest: [String: RecordedNotification] = [:]
        for notification in notifications {
            guard let id = notification.originalTransactionID else { continue }
            if let other = newest[id], other.statedDate >= notification.statedDate { continue }
            newest[id] = notification
        }
        return newest
    }

    /// Whether the row was checked by a statement of Apple's that is not older.
    private static func isPast(_ notification: RecordedNotification, for row: ScopedRow) -> Bool {
        guard let known = row.check?.check.signedDate else { return false }
        return known >= notification.statedDate
    }

    /// The match, where the statement of the notification leaves nothing to ask, report or write.
    ///
    /// A job that covers every row checks every row.
    private func agreement(
        of row: ScopedRow, with notification: RecordedNotification, policy: Policy
    ) -> RowOutcome? {
        guard context.settlesByNotification, let stated = notification.stated else { return nil }
        var item = Case(app: app, askedID: row.row.key.originalTransactionID, asked: row)
        item.statuses = .answered(StatusAnswer(subscriptions: [stated]))
        guard case .outcomes(let outcomes) = judge(item, policy: policy), outcomes.count == 1,
            let outcome = outcomes.first, outcome.key == row.row.key, outcome.verdict == .match,
            outcome.findings.isEmpty, outcome.corrections.isEmpty, outcome.check != nil
        else { return nil }
        return outcome
    }

    /// The outcomes of the one-time purchases that new notifications name, by what Apple signed last,
    /// without a call.
    ///
    /// - Parameters:
    ///   - fresh: The notifications that no earlier run took in.
    ///   - page: All of their page. Where one of these is younger and may still be on its way to the
    ///     company, nothing is said of its purchase.
    /// - Returns: An outcome for each purchase; none where the company stores no purchases.
    /// - Throws: What reading the stored purchases throws.
    func purchaseOutcomes(
        of fresh: [RecordedNotification], knowing page: [RecordedNotification]
    ) async throws -> [RowOutcome] {
        let new = Set(fresh.compactMap(\.purchase?.transactionID))
        guard context.job.policy.keepsPurchases, !new.isEmpty else { return [] }
        let known = page.compactMap(\.purchase).filter { new.contains($0.transactionID) }
        let newest = Dictionary(known.map { ($0.transactionID, $0) }) { first, second in
            first.signedDate >= second.signedDate ? first : second
        }
        guard let stored = try await context.rows.purchases(known, of: app) else { return [] }
        let policy = context.policyOfNow
        return newest.values.sorted { $0.transactionID < $1.transactionID }.map { signed in
            outcome(
                ofPurchase: signed, stored: stored[signed.transactionID], app: app, policy: policy)
        }
    }
}

extension RecordedNotification {
    /// When Apple signed what it says of the subscription.
    fileprivate var statedDate: Timestamp { stated?.signedDate ?? signedDate }
}
