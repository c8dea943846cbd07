import Subscriptions

/// A request to extend the renewal dates of all active subscribers of a product.
final class MassExtension: Sendable {
    let requestIdentifier: String
    let product: UInt16
    let days: Int
    /// Country codes; empty for all storefronts.
    let storefronts: [String]
    /// `nil` while the request is being processed.
    let result: Result?

    struct Result: Sendable {
        let date: Timestamp
        var succeeded = 0
        var failed = 0
    }

    init(
        requestIdentifier: String, product: UInt16, days: Int, storefronts: [String],
        result: Result? = nil
    ) {
        self.requestIdentifier = requestIdentifier
        self.product = product
        self.days = days
        self.storefronts = storefronts
        self.result = result
    }

    fileprivate func completed(_ result: Result) -> MassExtension {
        MassExtension(
            requestIdentifier: requestIdentifier, product: product, days: days,
            storefronts: storefronts, result: result)
    }
}

/// Extensions of renewal dates.
///
/// Source: App Store Server API, Extending the renewal date for auto-renewable subscriptions.
extension World {
    /// Apple extends a subscription at most twice within this time.
    private static let extensionPeriodDays: Int64 = 365
    /// Apple's processing of a mass extension takes hours to days; here one hour.
    private static let massExtensionMilliseconds = CivilCalendar.millisecondsPerHour

    /// Why a subscription cannot be extended; `nil` if it can.
    func extensionRefusal(chain index: Int, at moment: Timestamp) -> APIFailure? {
        let chain = chains[index]
        guard !chain.isFamilyShared else { return .familySharedSubscriptionExtensionIneligible }
        guard chain.phase == .active, !chain.isReplaced, let current = chain.current,
            catalogue.offers[Int(current.offer)].percentCharged > 0
        else { return .subscriptionExtensionIneligible }
        let yearAgo = moment.adding(
            milliseconds: -Self.extensionPeriodDays * CivilCalendar.millisecondsPerDay)
        if let earlier = chain.earlierExtension, earlier > yearAgo {
            return .subscriptionMaxExtension
        }
        return nil
    }

    /// Moves the renewal date; the end of the current period moves with it, so that an extended
    /// subscription never looks active and expired at once.
    ///
    /// Apple does not document the latter.
    mutating func extendRenewal(chain index: Int, days: Int, at moment: Timestamp) {
        let last = chains[index].transactions.count - 1
        guard last >= 0, chains[index].phase == .active else { return }
        let end = chains[index].transactions[last].expiresDate.adding(
            milliseconds: Int64(days) * CivilCalendar.millisecondsPerDay)
        chains[index].transactions[last].expiresDate = end
        chains[index].transactions[last].modifiedDate = moment
        chains[index].renewal.renewalDate = end
        chains[index].earlierExtension = chains[index].latestExtension
        chains[index].latestExtension = moment
        notify(.renewalExtended, chain: index, at: moment)
        // Events in the middle of a period plan its end afterwards.
        guard !chains[index].event.isWithinPeriod else { return }
        planEnd(chain: index, from: moment)
    }

    /// Accepts a mass extension, which is carried out later; one with a known identifier is ignored.
    mutating func accept(_ request: MassExtension, at moment: Timestamp) {
        let isKnown = massExtensions.contains { $0.requestIdentifier == request.requestIdentifier }
        guard !isKnown else { return }
        massExtensions.append(request)
        enqueue(
            PendingStep(
                date: moment.adding(milliseconds: Self.massExtensionMilliseconds),
                task: .massExtension(index: massExtensions.count - 1)))
        refreshNextDue()
    }

    /// Extends all active subscriptions of the product, and notifies about each and about the whole.
    ///
    /// Subscriptions in a free offer period are not eligible and left out. Those with two extensions
    /// within a year fail; Apple does not document which ones do.
    mutating func carryOutMassExtension(index: Int, at moment: Timestamp) {
        let request = massExtensions[index]
        var result = MassExtension.Result(date: moment)
        for chain in chains.indices where chains[chain].isSubscription {
            guard !chains[chain].isFamilyShared else { continue }
            runEvents(chain: chain, until: moment)
            guard concerns(request, chain: chain) else { continue }
            switch extensionRefusal(chain: chain, at: moment) {
            case nil:
                extendRenewal(chain: chain, days: request.days, at: moment)
                result.succeeded += 1
            case .subscriptionMaxExtension:
                record(.renewalExtensionFailure, chain: chain, at: moment)
                result.failed += 1
            default: continue
            }
        }
        let completed = request.completed(result)
        massExtensions[index] = completed
        var summary = NotificationRecord(
            date: moment, chain: -1, transaction: -1, event: .renewalExtensionSummary, status: 0,
            delivery: .atOnce, streakStart: moment,
            renewal: RenewalState(renewalDate: moment, nextProduct: 0))
        summary.repetition = UInt8(truncatingIfNeeded: index)
        subjects[summary.key] = .massExtension(completed)
        notifications.append(summary)
        deliverLater(summary)
    }

    private func concerns(_ request: MassExtension, chain index: Int) -> Bool {
        guard !isDeleted(chain: index), chains[index].current?.product == request.product else {
            return false
        }
        let storefront = accounts[Int(chains[index].account)].storefront
        return request.storefronts.isEmpty
            || request.storefronts.contains(catalogue.storefronts[Int(storefront)].country)
    }
}
