import Reconciliation
import Subscriptions
import Testing

@Suite struct `The notification lost rule` {
    private let delivered = Sample.notification(attempts: ["TIMED_OUT", "SUCCESS"])

    private func kinds(_ inbox: InboxRecord?, isKept: Bool) -> [FindingKind] {
        findings(
            about: delivered, inbox: inbox, inboxIsKept: isKept, app: Sample.app
        ).map(\.kind)
    }

    @Test func `reports a delivered one that the inbox lacks`() {
        #expect(kinds(nil, isKept: true) == [.notificationLost])
        #expect(
            kinds(InboxRecord(receivedAt: nil, recoveredAt: nil), isKept: true)
                == [.notificationLost])
    }

    @Test func `calls nothing lost where no inbox is kept`() {
        #expect(kinds(nil, isKept: false).isEmpty)
    }

    @Test func `is silent once it was received, or recovered by an earlier run`() {
        #expect(
            kinds(InboxRecord(receivedAt: Sample.now, recoveredAt: nil), isKept: true).isEmpty)
        #expect(
            kinds(InboxRecord(receivedAt: nil, recoveredAt: Sample.now), isKept: true).isEmpty)
    }
}
