import Foundation
import Subscriptions
import Synchronization

/// Sends notifications to configured addresses on loopback, with Apple's retries.
///
/// Attempts are due by the world's clock: when it moves by a week, a week's attempts are made at
/// once, several at the same time, those of one purchase in their order. Source: App Store Server
/// Notifications, Responding to App Store Server Notifications.
final class NotificationSender: Sendable {
    private let services: [AppStoreService]
    private let clock: SimulatedClock
    private let queues: Mutex<[SimulatedEnvironment: DeliveryQueue]>

    init(services: [AppStoreService], clock: SimulatedClock) {
        self.services = services
        self.clock = clock
        queues = Mutex(
            Dictionary(uniqueKeysWithValues: services.map { ($0.environment, DeliveryQueue()) }))
    }

    /// Sends notifications from `since` on to the address; `nil` ends sending, including retries.
    ///
    /// A new address also gets what the previous one has not received. Notifications that were
    /// created while there was no address are never sent.
    func configure(_ text: AddressText, since: Timestamp) throws(SimulatorError) {
        let receiver = try text.address.map { address throws(SimulatorError) in
            try Self.receiver(at: address)
        }
        for service in services
        where text.environment == nil || text.environment == service.environment {
            queues.withLock { queues in
                var queue = queues[service.environment] ?? DeliveryQueue()
                queue.receiver = receiver
                queue.concurrency = text.concurrency ?? DeliveryQueue.defaultConcurrency
                queue.isOrdered = text.isOrdered
                if receiver == nil { queue.clear() }
                queues[service.environment] = queue
            }
            service.world.state.withLock { world in
                if receiver == nil {
                    world.deliveredSince = nil
                    _ = world.takeUndeliveredNotifications()
                } else if world.deliveredSince == nil {
                    world.advance(to: since)
                    world.deliveredSince = since
                }
            }
        }
    }

    /// Ends sending and forgets every attempt that has not begun.
    func reset() {
        queues.withLock { queues in
            for environment in queues.keys {
                queues[environment]?.receiver = nil
                queues[environment]?.clear()
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

    /// Begins every attempt that is due by now; returns without waiting for them.
    func deliverDue() {
        let now = clock.now
        for service in services {
            let fresh = service.world.state.withLock { world in
                world.advance(to: now)
                return world.takeUndeliveredNotifications()
            }
            queues.withLock { queues in
                for key in fresh {
                    queues[service.environment]?.add(
                        DueAttempt(due: NotificationRecord.firstAttempt(of: key), key: key))
                }
            }
            beginAttempts(of: service)
        }
    }

    /// Begins every due attempt and waits until none is in flight, at most this many seconds.
    func deliverDue(waitingAtMost seconds: Double) async {
        deliverDue()
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            let now = clock.now
            let isIdle = queues.withLock { queues in queues.values.allSatisfy { $0.isIdle(at: now) }
            }
            if isIdle { return }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    private func beginAttempts(of service: AppStoreService) {
        while true {
            let now = clock.now
            let next = queues.withLock { queues in
                let attempt = queues[service.environment]?.begin(at: now)
                return attempt.map { ($0, queues[service.environment]?.receiver) }
            }
            guard let (attempt, receiver) = next else { return }
            Task {
                if let receiver { await make(attempt, service: service, receiver: receiver) }
                queues.withLock { $0[service.environment]?.end(attempt) }
                beginAttempts(of: service)
            }
        }
    }

    /// Makes one attempt, records its result and plans the next one, if any.
    private func make(
        _ attempt: DueAttempt, service: AppStoreService, receiver: any NotificationReceiver
    ) async {
        let found = service.world.state.withLock { world -> NotificationSnapshot? in
            guard let index = world.index(of: attempt.key),
                world.notifications[index].delivery != .never
            else { return nil }
            if world.notifications[index].outcomes == nil {
                world.notifications[index].outcomes = AttemptOutcomes()
            }
            return world.snapshot(of: world.notifications[index])
        }
        guard let found else { return }
        let outcome = await outcome(of: found, service: service, receiver: receiver)
        let next = service.world.state.withLock { world -> Timestamp? in
            guard let index = world.index(of: attempt.key) else { return nil }
            world.notifications[index].outcomes?.append(outcome)
            return world.notifications[index].nextAttempt(in: service.environment)
        }
        guard let next else { return }
        queues.withLock {
            $0[service.environment]?.add(DueAttempt(due: next, key: attempt.key))
        }
    }

    private func outcome(
        of notification: NotificationSnapshot, service: AppStoreService,
        receiver: any NotificationReceiver
    ) async -> UInt8 {
        let record = notification.record
        // An attempt that is planned to fail is not sent, except where only its answer is lost.
        let isPlannedToFail = (record.outcomes?.count ?? 0) < record.delivery.failedAttempts
        guard !isPlannedToFail || record.delivery == .twice else {
            return record.plannedFailure + 1
        }
        guard let payload = try? service.signed(notification) else {
            return NotificationRecord.Delivery.outcome("OTHER")
        }
        var json = JSONWriter(capacity: payload.count + 32)
        json.object { $0.field("signedPayload", jws: payload) }
        let outcome = await receiver.post(json.bytes)
        return isPlannedToFail ? record.plannedFailure + 1 : outcome
    }
}
