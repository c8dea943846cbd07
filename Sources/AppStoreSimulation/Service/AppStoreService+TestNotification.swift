import Subscriptions
import Synchronization

extension AppStoreService {
    /// Request a Test Notification: recorded as sent, delivered at once.
    func requestTestNotification() throws(APIFailure) -> ServiceAnswer {
        guard connectSettings.state.withLock({ $0.hasNotificationAddress }) else {
            throw .serverNotificationURLNotFound
        }
        let record = try withWorld { world, now throws(APIFailure) in
            // One test a millisecond: the token is made of its moment.
            let date = max(
                now,
                world.notifications.last { $0.event == .test }?.date.adding(milliseconds: 1)
                    ?? now)
            let record = NotificationRecord(
                date: date, chain: -1, transaction: -1, event: .test, status: 0,
                delivery: .atOnce, streakStart: date,
                renewal: RenewalState(renewalDate: date, nextProduct: 0))
            world.notifications.append(record)
            world.deliverLater(record)
            world.sortNotifications(from: world.notifications.count - 1)
            return record
        }
        let token = testToken(record)
        return .json { $0.field("testNotificationToken", token) }
    }

    /// Get Test Notification Status.
    func testNotificationStatus(token: String) throws(APIFailure) -> ServiceAnswer {
        let parts = token.split(separator: "_", maxSplits: 1)
        guard parts.count == 2, let milliseconds = Int64(parts[1]), parts[0].utf8.count == 36
        else { throw .invalidTestNotificationToken }
        let date = Timestamp(unixMilliseconds: milliseconds)
        let (record, now) = try withWorld { world, now throws(APIFailure) in
            let found = world.notifications.last { $0.event == .test && $0.date == date }
            guard let found, self.testToken(found) == token else {
                throw .testNotificationNotFound
            }
            return (found, now)
        }
        let jws = try signed(NotificationSnapshot(record: record, purchase: nil))
        let attempts = record.attempts(in: environment, until: now)
        return .json { json in
            json.field("signedPayload", jws: jws)
            Self.write(attempts, into: &json)
            json.field("firstSendAttemptResult", attempts.first?.result)
        }
    }

    private func testToken(_ record: NotificationRecord) -> String {
        "\(encoder.notificationUUID(record))_\(record.date.unixMilliseconds)"
    }
}
