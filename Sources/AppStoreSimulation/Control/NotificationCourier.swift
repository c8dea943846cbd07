import Foundation
import FoundationNetworking
import Subscriptions
import Synchronization

/// Sends notifications to a configured address on loopback, with Apple's retries.
///
/// Attempts are due by the world's clock: moved by a week, it makes a week's attempts at once, in
/// their order. Success is a status from 200 to 206. Source: App Store Server Notifications,
/// Responding to App Store Server Notifications.
final class NotificationCourier: Sendable {
    private static let timeoutSeconds = 5.0
    private static let successes = 200...206

    private struct State {
        var address: URL?
        /// Only notifications of this moment and later are sent.
        var since = PurchaseChain.never
        /// The pass that is going on; the next one waits for it.
        var pass: Task<Void, Never>?
    }

    private let services: [AppStoreService]
    private let clock: SimulatedClock
    private let state = Mutex(State())

    init(services: [AppStoreService], clock: SimulatedClock) {
        self.services = services
        self.clock = clock
    }

    /// Notifications from `since` on go to the address; `nil` ends sending.
    func configure(address: String?, since: Timestamp) throws(SimulatorError) {
        var url: URL?
        if let address {
            guard let parsed = URL(string: address), parsed.scheme == "http",
                ["127.0.0.1", "localhost", "::1"].contains(parsed.host())
            else { throw .badOption("The address must be plain HTTP on loopback.") }
            url = parsed
        }
        state.withLock { state in
            if state.since == PurchaseChain.never { state.since = since }
            state.address = url
        }
    }

    /// Makes every attempt that is due by now, one pass after the other.
    func deliverDue() async {
        let pass = state.withLock { state -> Task<Void, Never>? in
            guard let address = state.address else { return nil }
            let (before, since) = (state.pass, state.since)
            let next = Task {
                await before?.value
                for service in services { await deliver(service, to: address, since: since) }
            }
            state.pass = next
            return next
        }
        await pass?.value
    }

    private struct Attempt: Sendable {
        let index: Int
        let date: Timestamp
        let record: NotificationRecord
        let snapshot: ChainSnapshot?
    }

    private func deliver(_ service: AppStoreService, to address: URL, since: Timestamp) async {
        let now = clock.now
        while let attempt = nextAttempt(service, since: since, now: now) {
            let outcome = await outcome(of: attempt, service: service, address: address)
            service.world.state.withLock { world in
                // A test notification may have been put in front of it in the meantime.
                let place = world.notifications[attempt.index...].firstIndex {
                    $0.date == attempt.record.date && $0.chain == attempt.record.chain
                        && $0.event == attempt.record.event
                }
                if let place { world.notifications[place].outcomes?.append(outcome) }
            }
        }
    }

    /// The earliest attempt that is due.
    private func nextAttempt(
        _ service: AppStoreService, since: Timestamp, now: Timestamp
    ) -> Attempt? {
        service.world.state.withLock { world in
            world.advance(to: now)
            var next: (index: Int, date: Timestamp)?
            for index in world.firstNotification(notBefore: since)..<world.notifications.count {
                if world.notifications[index].outcomes == nil,
                    world.notifications[index].delivery != .never
                {
                    world.notifications[index].outcomes = []
                }
                let record = world.notifications[index]
                guard record.date <= now else { break }
                guard let due = record.dueAttempt(in: service.environment, by: now),
                    due.date < next?.date ?? PurchaseChain.never
                else { continue }
                next = (index, due.date)
            }
            return next.map { next in
                let record = world.notifications[next.index]
                return Attempt(
                    index: next.index, date: next.date, record: record,
                    snapshot: record.chain < 0 ? nil : world.snapshot(chain: Int(record.chain)))
            }
        }
    }

    private func outcome(
        of attempt: Attempt, service: AppStoreService, address: URL
    ) async -> UInt8 {
        let number = attempt.record.outcomes?.count ?? 0
        // A planned failure needs no connection.
        guard number >= Int(attempt.record.delivery.failedAttempts) else {
            return attempt.record.failure + 1
        }
        guard
            let payload = try? service.signedNotification(
                attempt.record, snapshot: attempt.snapshot)
        else { return Self.failure("OTHER") }
        var json = JSONWriter(capacity: payload.count + 32)
        json.object { $0.field("signedPayload", jws: payload) }
        var request = URLRequest(url: address, timeoutInterval: Self.timeoutSeconds)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(json.bytes)
        do {
            let (_, response) = try await URLSession.shared.data(for: request)
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            return Self.successes.contains(status)
                ? 0 : Self.failure("UNSUCCESSFUL_HTTP_RESPONSE_CODE")
        } catch let error as URLError where error.code == .timedOut {
            return Self.failure("TIMED_OUT")
        } catch {
            return Self.failure("NO_RESPONSE")
        }
    }

    private static func failure(_ name: String) -> UInt8 {
        UInt8((NotificationRecord.Delivery.failures.firstIndex(of: name) ?? 0) + 1)
    }
}
