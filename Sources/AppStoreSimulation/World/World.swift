import Subscriptions
import Synchronization

/// An App Store of one app in one environment: accounts, what they bought, and what was notified.
///
/// The same seed, size and clock movements give the same world. Subscriptions are simulated event by
/// event, so the dates of a subscription always agree with its status.
struct World: Sendable {
    let environment: SimulatedEnvironment
    let seed: UInt64
    let identifiers: IdentifierScheme
    let catalogue: Catalogue
    let pace: Pace
    /// Grace period that the app chose: 3, 16 or 28 days, or 0 for none.
    var graceDays: Int
    var rates: LifeRates
    /// Every event that was due by this moment has happened.
    private(set) var now: Timestamp
    var accounts: [AppleAccount] = []
    /// The company's ids of customers, by account, where a table gives them.
    var customerNames: [Int: String] = [:]
    /// How many subscriptions of such a table are not as their row says, because a date of it has passed.
    var rowsGoneOn = 0
    var chains: [PurchaseChain] = []
    /// Sorted by date.
    var notifications: [NotificationRecord] = []
    /// What those notifications are about that have no purchase; none for a test.
    var subjects: [NotificationKey: NotificationSubject] = [:]
    /// Notifications before this are not kept.
    var notificationsSince: Timestamp
    /// Scripted steps that are not due yet, sorted by date.
    var pendingSteps: [PendingStep] = []
    var scripted = ScriptedNames()
    /// Notifications from this moment on are delivered to an address; `nil` delivers none.
    var deliveredSince: Timestamp?
    /// Created, and not yet handed over for delivery.
    var undeliveredNotifications: [NotificationKey] = []
    /// Scripted steps that were impossible when they became due, with the reason.
    var skippedSteps: [String] = []
    var massExtensions: [MassExtension] = []
    /// The new renewal dates of single extensions, by chain and request identifier.
    var extensionRequests: [ExtensionRequest: Timestamp] = [:]
    /// App account tokens that were set by the API, by chain and oldest first.
    var appAccountTokens: [Int: [AppAccountToken]] = [:]
    /// The seats of subscriptions for groups, by chain.
    var groups: [Int: GroupSeats] = [:]
    /// When the next event or scripted step is due.
    private(set) var nextDue = PurchaseChain.never

    init(
        environment: SimulatedEnvironment, catalogue: Catalogue, pace: Pace, seed: UInt64,
        now: Timestamp, rates: LifeRates, given: GivenIdentifiers = GivenIdentifiers()
    ) {
        self.environment = environment
        self.catalogue = catalogue
        self.pace = pace
        self.graceDays = catalogue.graceDays
        self.seed = seed
        self.identifiers = IdentifierScheme(environment: environment, seed: seed, given: given)
        self.now = now
        self.rates = rates
        self.notificationsSince = now.adding(
            milliseconds: -environment.notificationHistoryDays * CivilCalendar.millisecondsPerDay)
    }

    /// A world without customers, with the same settings and moment.
    func emptyCopy() -> World {
        var copy = World(
            environment: environment, catalogue: catalogue, pace: pace, seed: seed, now: now,
            rates: rates)
        copy.graceDays = graceDays
        return copy
    }

    /// Runs every event that is due by `moment`; the clock never goes back.
    mutating func advance(to moment: Timestamp) {
        guard moment > now else { return }
        now = moment
        guard nextDue <= moment else { return }
        let known = notifications.count
        // A step that has become impossible is skipped and reported: the clock cannot stop for it.
        while let pending = pendingSteps.first, pending.date <= moment {
            do throws(SimulatorError) {
                try performSteps(until: moment)
            } catch {
                skippedSteps.append(error.description)
            }
        }
        for index in chains.indices where chains[index].eventDate <= moment {
            runEvents(chain: index, until: moment)
        }
        sortNotifications(from: known)
        refreshNextDue()
    }

    /// Runs the events of one chain that are due by `moment`.
    mutating func runEvents(chain index: Int, until moment: Timestamp) {
        while chains[index].eventDate <= moment {
            runNextEvent(chain: index)
        }
    }

    /// Must be called after chains or their next events were changed from outside.
    mutating func refreshNextDue() {
        nextDue = min(
            chains.lazy.map(\.eventDate).min() ?? PurchaseChain.never,
            pendingSteps.first?.date ?? PurchaseChain.never)
    }

    /// Sorts the notifications from `first` on into the list, by date.
    ///
    /// Equal dates are ordered by chain, so the order of creation makes no difference.
    mutating func sortNotifications(from first: Int) {
        // Sorting a part copies it.
        guard first > 0 else { return notifications.sort { $0.order < $1.order } }
        notifications[first...].sort { $0.order < $1.order }
        guard first > 0, first < notifications.count,
            notifications[first].order < notifications[first - 1].order
        else { return }
        notifications.sort { $0.order < $1.order }
    }
}

/// A world that all requests of one environment share.
final class SharedWorld: Sendable {
    let state: Mutex<World>

    init(_ world: consuming World) {
        state = Mutex(world)
    }
}

/// A customer: one Apple Account with what it bought in the app.
struct AppleAccount: Sendable {
    /// The first chain of the account, or -1; the others follow by `nextOfAccount`.
    var firstChain: Int32 = -1
    var storefront: UInt8
    /// Whether the app supplied an `appAccountToken` with its purchases.
    var hasToken: Bool
    /// A deleted account: Apple answers 4040001.
    var isDeleted = false
}

/// Identifies a request to extend one subscription, which may be sent again.
struct ExtensionRequest: Hashable, Sendable {
    let chain: Int
    let identifier: String
}

/// A token that Set App Account Token set for a purchase.
struct AppAccountToken: Sendable {
    let since: Timestamp
    let token: String
}
