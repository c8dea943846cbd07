package import Subscriptions

/// Decides, page by page, how a sweep through the notification history goes on.
///
/// It cannot loop and cannot end early unnoticed: a repeated token, an empty page that promises
/// more, and more pages than the limit all end it as not finished.
package struct NotificationSweep {
    package enum Step: Hashable {
        case nextPage
        case finished
        case gaveUp(String)
    }

    package private(set) var paginationToken: String?
    private var pages = 0
    private var restarts = 0
    /// Brent's cycle detection: one remembered page, renewed at powers of two.
    private var remembered: [String] = []
    private var nextRemembering = 1

    package init() {}

    package mutating func pageArrived(_ lookup: Lookup<NotificationPage>) -> Step {
        switch lookup {
        case .answered(let page): return pageArrived(page)
        case .restart:
            restarts += 1
            guard restarts <= RunLimits.notificationSweepRestarts else {
                return .gaveUp("its page token ended \(restarts) times")
            }
            paginationToken = nil
            remembered = []
            return .nextPage
        case .rateLimited: return .gaveUp("Apple's rate limit")
        case .unavailable(let why), .undecodable(let why): return .gaveUp(why)
        case .internalFault: return .gaveUp("Apple answered 5000000")
        case .unverified(let rejected): return .gaveUp(rejected.failure.detail)
        case .refused(let code, _, _): return .gaveUp("Apple refused it (\(code))")
        case .transactionNotFound, .accountNotFound, .invalidID:
            return .gaveUp("Apple answered about a transaction that was not asked for")
        }
    }

    private mutating func pageArrived(_ page: NotificationPage) -> Step {
        guard page.hasMore else { return .finished }
        guard let token = page.paginationToken, !token.isEmpty else {
            return .gaveUp("a page promises more without saying where")
        }
        let uuids = page.notifications.map(\.notificationUUID)
        guard !uuids.isEmpty || !page.rejected.isEmpty else {
            return .gaveUp("an empty page promises more")
        }
        guard token != paginationToken, uuids.isEmpty || uuids != remembered else {
            return .gaveUp("its pages repeat")
        }
        pages += 1
        guard pages < RunLimits.notificationPagesPerSweep else {
            return .gaveUp("it has more pages than the limit")
        }
        if pages == nextRemembering {
            remembered = uuids
            nextRemembering *= 2
        }
        paginationToken = token
        return .nextPage
    }
}
