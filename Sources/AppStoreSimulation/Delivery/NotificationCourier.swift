import Foundation
import Subscriptions
import Synchronization

/// Sends notifications to configured addresses on loopback, with Apple's retries.
///
/// Attempts are due by the world's clock: moved by a week, it makes a week's attempts at once, several
/// side by side, those of one purchase in their order. Source: App Store Server Notifications,
/// Responding to App Store Server Notifications.
final class NotificationCourier: Sendable {
    private let services: [AppStoreService]
    private let clock: SimulatedClock
    private let lines: Mutex<[SimulatedEnvironment: DeliveryLine]>

    init(services: [AppStoreService], clock: SimulatedClock) {
        self.services = services
        self.clock = clock
        lines = Mutex(
            Dictionary(uniqueKeysWithValues: services.map { ($0.environment, DeliveryLine()) }))
    }

    /// Notifications from `since` on go to the address; `nil` ends sending, retries included.
    ///
    /// A new address takes over what the one before has not received; what was made while there was
    /// none is never sent.
    func configure(_ text: AddressText, since: Timestamp) throws(SimulatorError) {
        let receiver = try text.address.map { address throws(SimulatorError) in
            try Self.receiver(at: address)
        }
        for service in services
        where text.environment == nil || text.environment == service.environment {
            lines.withLock { lines in
                var line = lines[service.environment] ?? DeliveryLine()
                line.receiver = receiver
                line.concurrency = text.concurrency ?? DeliveryLine.usualConcurrency
                line.isOrdered = text.isOrdered
                if receiver == nil { line.clear() }
                lines[service.environment] = line
            }
            service.world.state.withLock { world in
                if receiver == nil {
                    world.deliveredSince = nil
                    _ = world.takeFreshNotifications()
                } else if world.deliveredSince == nil {
                    world.advance(to: since)
                    world.deliveredSince = since
                }
            }
        }
    }

    private static func receiver(
        at address: String
    ) throws(SimulatorError) -> any NotificationReceiver {
        guard let url = URL(string: address), let host = url.host(),
            ["127.0.0.1", "localhost", "::1", "[::1]"].contains(host)
        else { throw .badOption("The address must be HTTP or HTTPS on loopback.") }
        switch url.scheme {
        case "http":
            guard host != "::1", host != "[::1]" else { return SessionReceiver(url: url) }
            return SocketReceiver(url: url)
        case "https":
            return SessionReceiver(url: url)
        default: throw .badOption("The address must be HTTP or HTTPS on loopback.")
        }
    }

    /// Begins every attempt that is due by now; they go on by themselves.
    func deliverDue() {
        let now = clock.now
        for service in services {
            let fresh = service.world.state.withLock { world in
                world.advance(to: now)
                return world.takeFreshNotifications()
            }
            lines.withLock { lines in
                for key in fresh {
                    lines[service.environment]?.add(
                        DueAttempt(due: NotificationRecord.firstAttempt(of: key), key: key))
                }
            }
            beginAttempts(of: service)
        }
    }

    /// The same, and waits until nothing is under way, for some seconds at most.
    func deliverDue(waitingAtMost seconds: Double) async {
        deliverDue()
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            let now = clock.now
            let isIdle = lines.withLock { lines in lines.values.allSatisfy { $0.isIdle(at: now) } }
            if isIdle { return }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    private func beginAttempts(of service: AppStoreService) {
        while true {
            let now = clock.now
            let next = lines.withLock { lines in
                let attempt = lines[service.environment]?.begin(at: now)
                return attempt.map { ($0, lines[service.environment]?.receiver) }
            }
            guard let (attempt, receiver) = next else { return }
            Task {
                if let receiver { await make(attempt, service: service, receiver: receiver) }
                lines.withLock { $0[service.environment]?.end(attempt) }
                beginAttempts(of: service)
            }
        }
    }

    /// Makes one attempt, writes down what came of it, and plans the next one where there is one.
    private func make(
        _ attempt: DueAttempt, service: AppStoreService, receiver: any NotificationReceiver
    ) async {
        let found = service.world.state.withLock {
            world -> (record: NotificationRecord, snapshot: ChainSnapshot?)? in
            guard let place = world.place(of: attempt.key),
                world.notifications[place].delivery != .never
            else { return nil }
            if world.notifications[place].outcomes == nil {
                world.notifications[place].outcomes = AttemptOutcomes()
            }
            let record = world.notifications[place]
            return (record, record.chain < 0 ? nil : world.snapshot(chain: Int(record.chain)))
        }
        guard let (record, snapshot) = found else { return }
        let outcome = await outcome(
            of: record, snapshot: snapshot, service: service, receiver: receiver)
        let next = service.world.state.withLock { world -> Timestamp? in
            guard let place = world.place(of: attempt.key) else { return nil }
            world.notifications[place].outcomes?.append(outcome)
            return world.notifications[place].nextAttempt(in: service.environment)
        }
        guard let next else { return }
        lines.withLock {
            $0[service.environment]?.add(DueAttempt(due: next, key: attempt.key))
        }
    }

    private func outcome(
        of record: NotificationRecord, snapshot: ChainSnapshot?, service: AppStoreService,
        receiver: any NotificationReceiver
    ) async -> UInt8 {
        // A planned failure needs no connection.
        guard (record.outcomes?.count ?? 0) >= Int(record.delivery.failedAttempts) else {
            return record.failure + 1
        }
        guard let payload = try? service.signedNotification(record, snapshot: snapshot) else {
            return NotificationRecord.Delivery.outcome("OTHER")
        }
        var json = JSONWriter(capacity: payload.count + 32)
        json.object { $0.field("signedPayload", jws: payload) }
        return await receiver.post(json.bytes)
    }
}
