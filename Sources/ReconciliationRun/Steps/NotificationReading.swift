package import Subscriptions

/// Reads one window of an app's notification history: a short one page after page, a long one in
/// slices side by side.
///
/// The first page tells whether there is more than one; if so it comes again in a slice. Slices
/// overlap, so whoever takes the pages must not mind a notification that comes twice.
struct NotificationReading {
    private let appStore: any AppStore
    private let context: RunContext
    private var windows: [NotificationWindow]
    private var sweeps = [NotificationSweep()]
    private var isBegun = false

    /// How many notifications were read.
    private(set) var notifications = 0
    /// How many of them could not be judged, because revocation could not be learned.
    private(set) var undetermined = 0
    /// How many of them did not verify.
    private(set) var unverifiable = 0
    /// Why a part could not be read, if so.
    private(set) var failure: (why: String, mayComeLater: Bool)?
    /// What ends the whole run, if anything does.
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
                // What nobody will take must not be waited for, be it a call or a pause of the quota.
                if end != nil { group.cancelAll() }
            }
        }
    }

    private struct Answer: Sendable {
        let slice: Int
        let result: Result<Lookup<NotificationPage>, RunStop>
    }

    /// Asks for the next page of a slice, unless the reading is over.
    private mutating func ask(_ slice: Int, in group: inout TaskGroup<Answer>) {
        end = end ?? context.reasonToEnd
        guard end == nil, failure == nil else { return }
        let (window, token) = (windows[slice], sweeps[slice].paginationToken)
        group.addTask { [appStore] in
            do throws(RunStop) {
                let lookup = try await appStore.notificationHistory(
                    in: window, paginationToken: token)
                return Answer(slice: slice, result: .success(lookup))
            } catch {
                return Answer(slice: slice, result: .failure(error))
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
    /// Neighbours overlap by a millisecond or two, because Apple does not say whether a window contains
    /// its first and its last.
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
