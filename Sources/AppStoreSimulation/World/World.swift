import Subscriptions

/// An App Store of one app in one environment: accounts, what they bought, and what was notified.
///
/// The same seed, size and moves of the clock make the same world. Lives are simulated event by
/// event, so every date fits every status.
struct World: Sendable {
    let environment: SimulatedEnvironment
    let seed: UInt64
    let identifiers: IdentifierScheme
    /// Grace period that the app chose: 3, 16 or 28 days, or 0 for none.
    var graceDays = 16
    var rates: LifeRates
    /// Everything that was due until then has happened.
    private(set) var now: Timestamp
    var accounts: [AppleAccount] = []
    var chains: [PurchaseChain] = []
    /// In the order of their dates.
    var notifications: [NotificationRecord] = []
    /// Notifications before this are not kept.
    var notificationsSince: Timestamp
    /// Scripted steps to come, in the order of their dates.
    var pendingSteps: [PendingStep] = []
    var scripted = ScriptedNames()
    /// Notifications of this moment and later are delivered to an address; `nil` for none.
    var deliveredSince: Timestamp?
    /// Made and not yet taken for delivery.
    var freshNotifications: [NotificationKey] = []
    /// Steps that had become impossible when their time came, with the reason.
    var skippedSteps: [String] = []
    /// When the next thing happens by itself.
    private(set) var nextDue = PurchaseChain.never

    init(environment: SimulatedEnvironment, seed: UInt64, now: Timestamp, rates: LifeRates) {
        self.environment = environment
        self.seed = seed
        self.identifiers = IdentifierScheme(environment: environment, seed: seed)
        self.now = now
        self.rates = rates
        self.notificationsSince = now.adding(
            milliseconds: -environment.notificationHistoryDays * BillingPeriod.millisecondsPerDay)
    }

    /// Lets everything happen that is due until `moment`; the clock never goes back.
    mutating func advance(to moment: Timestamp) {
        guard moment > now else { return }
        now = moment
        guard nextDue <= moment else { return }
        let known = notifications.count
        // A step that has become impossible by then is left out: the clock cannot stop for it.
        while let pending = pendingSteps.first, pending.date <= moment {
            do throws(SimulatorError) {
                try takeSteps(until: moment)
            } catch {
                skippedSteps.append(error.description)
            }
        }
        for index in chains.indices where chains[index].eventDate <= moment {
            live(chain: index, until: moment)
        }
        sortNotifications(from: known)
        refreshNextDue()
    }

    /// Runs one chain's own events.
    mutating func live(chain index: Int, until moment: Timestamp) {
        while chains[index].eventDate <= moment {
            happen(chain: index)
        }
    }

    /// To be called after chains were added or moved from outside.
    mutating func refreshNextDue() {
        nextDue = min(
            chains.lazy.map(\.eventDate).min() ?? PurchaseChain.never,
            pendingSteps.first?.date ?? PurchaseChain.never)
    }

    /// Brings the notifications from `first` on into the order of their dates.
    ///
    /// Equal dates are ordered by chain, so the order of making does not show.
    mutating func sortNotifications(from first: Int) {
        notifications[first...].sort { $0.order < $1.order }
        guard first > 0, first < notifications.count,
            notifications[first].order < notifications[first - 1].order
        else { return }
        notifications.sort { $0.order < $1.order }
    }
}
