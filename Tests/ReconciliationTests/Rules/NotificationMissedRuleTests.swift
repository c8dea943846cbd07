import Reconciliation
import Subscriptions
import Testing

@Suite struct `The notification missed rule` {
    private func findings(
        _ notification: RecordedNotification, inbox: InboxRecord? = nil, isKept: Bool = false
    ) -> [Finding] {
        Reconciliation.findings(
            about: notification, inbox: inbox, inboxIsKept: isKept, app: Sample.app)
    }

    @Test(arguments: [[], ["TIMED_OUT"], ["NO_RESPONSE", "CIRCULAR_REDIRECT"]])
    func `reports one that no attempt delivered`(attempts: [String]) throws {
        let findings = findings(Sample.notification(attempts: attempts))
        let finding = try #require(findings.first)
        #expect(findings.count == 1)
        #expect(finding.kind == .notificationMissed)
        #expect(finding.severity == .high)
        #expect(finding.action == .recovered)
        #expect(finding.field == "002e14d5-51f5-4503-b5a8-c3a1af68eb20")
        #expect(finding.appleValue == .text("DID_RENEW.BILLING_RECOVERY"))
        #expect(finding.key?.originalTransactionID == Sample.id)
        #expect(finding.evidence == Sample.payload("notification").digest)
    }

    @Test func `is silent once it was delivered, received or recovered`() {
        let failed = Sample.notification(attempts: ["TIMED_OUT"])
        #expect(findings(Sample.notification(attempts: ["TIMED_OUT", "SUCCESS"])).isEmpty)
        let received = InboxRecord(receivedAt: Sample.now, recoveredAt: nil)
        #expect(findings(failed, inbox: received, isKept: true).isEmpty)
        let recovered = InboxRecord(receivedAt: nil, recoveredAt: Sample.now)
        #expect(findings(failed, inbox: recovered).isEmpty)
    }

    @Test func `never counts a test`() {
        let test = Sample.notification(attempts: ["TIMED_OUT"]) {
            $0.notificationType = "TEST"
            $0.originalTransactionID = nil
        }
        #expect(findings(test).isEmpty)
    }

    @Test func `reports a type that it does not know beside it`() throws {
        let unknown = Sample.notification(attempts: ["SUCCESS"]) {
            $0.notificationType = "MOON_PHASE"
            $0.unknowns = [
                UnknownValue(field: "notification.notificationType", value: "MOON_PHASE")
            ]
        }
        let findings = findings(unknown)
        #expect(findings.map(\.kind) == [.unknownValue])
        #expect(findings[0].severity == .info)
        #expect(findings[0].action == .none)
        #expect(findings[0].appleValue == .text("MOON_PHASE"))
    }
}
