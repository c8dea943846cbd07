import ReconciliationRun
import Subscriptions
import Testing

@Suite struct `A sweep through the notification history` {
    private func page(_ uuids: [String], token: String?) -> Lookup<NotificationPage> {
        .answered(
            NotificationPage(
                notifications: uuids.map {
                    RecordedNotification(
                        evidence: SignedPayload(
                            digest: EvidenceDigest(hexadecimal: $0), jws: "a.b.c"),
                        notificationUUID: $0, notificationType: "DID_RENEW", subtype: nil,
                        signedDate: Timestamp(unixMilliseconds: 0), originalTransactionID: nil,
                        sendAttempts: [])
                }, hasMore: token != nil, paginationToken: token))
    }

    private func gaveUp(_ step: NotificationSweep.Step) -> Bool {
        if case .gaveUp = step { true } else { false }
    }

    @Test func `follows tokens until there is no more`() {
        var sweep = NotificationSweep()
        #expect(sweep.paginationToken == nil)
        #expect(sweep.pageArrived(page(["1"], token: "a")) == .nextPage)
        #expect(sweep.paginationToken == "a")
        #expect(sweep.pageArrived(page(["2"], token: "b")) == .nextPage)
        #expect(sweep.pageArrived(page(["3"], token: nil)) == .finished)
    }

    @Test func `an empty history is finished at once`() {
        var sweep = NotificationSweep()
        #expect(sweep.pageArrived(page([], token: nil)) == .finished)
    }

    @Test func `a repeated token does not loop`() {
        var sweep = NotificationSweep()
        _ = sweep.pageArrived(page(["1"], token: "a"))
        #expect(gaveUp(sweep.pageArrived(page(["2"], token: "a"))))
    }

    @Test func `the same page under ever new tokens does not loop`() {
        var sweep = NotificationSweep()
        _ = sweep.pageArrived(page(["1"], token: "a"))
        #expect(gaveUp(sweep.pageArrived(page(["1"], token: "b"))))
    }

    @Test func `a cycle of several pages under ever new tokens does not loop`() {
        var sweep = NotificationSweep()
        var steps = 0
        while steps < 100 {
            steps += 1
            if gaveUp(sweep.pageArrived(page(["\(steps % 7)"], token: "t\(steps)"))) { break }
        }
        #expect(steps < 40)
    }

    @Test func `an empty page that promises more is not believed`() {
        var sweep = NotificationSweep()
        #expect(gaveUp(sweep.pageArrived(page([], token: "a"))))
    }

    @Test func `an expired token starts the window again, a few times`() {
        var sweep = NotificationSweep()
        _ = sweep.pageArrived(page(["1"], token: "a"))
        for _ in 0..<3 {
            #expect(sweep.pageArrived(.restart) == .nextPage)
            #expect(sweep.paginationToken == nil)
            _ = sweep.pageArrived(page(["1"], token: "a"))
        }
        #expect(gaveUp(sweep.pageArrived(.restart)))
    }

    @Test func `an outage is not the end of the history`() {
        for lookup: Lookup<NotificationPage> in [
            .unavailable("down"), .rateLimited, .internalFault, .undecodable("HTML"),
            .refused(code: 4_000_012, httpStatus: 400, message: ""),
        ] {
            var sweep = NotificationSweep()
            #expect(gaveUp(sweep.pageArrived(lookup)))
        }
    }
}
