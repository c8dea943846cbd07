import Reconciliation
import Subscriptions
import Testing

@Suite struct `The search for a cause` {
    private let success: (minutes: Int64, result: String) = (0, "SUCCESS")
    private let refusal: (minutes: Int64, result: String) = (0, "UNSUCCESSFUL_HTTP_RESPONSE_CODE")

    private func delivery(
        of finding: Finding, _ notifications: TracedNotification...,
        in search: CauseSearch = Told.search()
    ) throws -> Delivery? {
        try #require(search.cause(of: finding, among: notifications)).delivery
    }

    @Test func `names the refusal of the notification that would have brought the change`() throws {
        let cause = try #require(
            Told.search().cause(
                of: Told.expired,
                among: [
                    Told.notification("EXPIRED", "VOLUNTARY", refusal),
                    Told.notification("DID_CHANGE_RENEWAL_PREF", nil, success, uuid: "other"),
                ]))
        #expect(cause.text == "refused by us (UNSUCCESSFUL_HTTP_RESPONSE_CODE)")
        #expect(cause.delivery == .refused)
        #expect(cause.result == "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
        #expect(cause.notification?.notificationUUID == "uuid")
        #expect(cause.attempt == Sample.now(days: -1))
    }

    @Test(arguments: [
        "TIMED_OUT", "TLS_ISSUE", "CIRCULAR_REDIRECT", "NO_RESPONSE", "SOCKET_ISSUE",
        "UNSUPPORTED_CHARSET", "INVALID_RESPONSE", "PREMATURE_CLOSE", "OTHER", "SSL_ISSUE",
    ])
    func `spells every other result as Apple does`(result: String) throws {
        let cause = try #require(
            Told.search().cause(
                of: Told.expired, among: [Told.notification("EXPIRED", nil, (0, result))]))
        #expect(cause.text == "did not reach us (\(result))")
        #expect(cause.delivery == .unreached)
    }

    @Test func `calls a delivered one lost only where an inbox is kept and has not got it`() throws
    {
        let sent = Told.notification("EXPIRED", nil, success)
        let received = Told.notification("EXPIRED", nil, success, received: true)
        let kept = Told.search(inboxIsKept: true)
        #expect(try delivery(of: Told.expired, sent) == .notApplied)
        #expect(try delivery(of: Told.expired, sent, in: kept) == .lostAfterSuccess)
        #expect(try delivery(of: Told.expired, received, in: kept) == .notApplied)
    }

    @Test func `tells a late delivery from one at once`() throws {
        let retried = Told.notification("EXPIRED", nil, (0, "TIMED_OUT"), (60, "SUCCESS"))
        let cause = try #require(Told.search().cause(of: Told.expired, among: [retried]))
        #expect(cause.delivery == .late)
        #expect(cause.result == "TIMED_OUT")
        #expect(cause.attempt == Sample.now(days: -1))
        #expect(
            try delivery(of: Told.expired, Told.notification("EXPIRED", nil, (66, "SUCCESS")))
                == .late)
        #expect(
            try delivery(of: Told.expired, Told.notification("EXPIRED", nil, (2, "SUCCESS")))
                == .notApplied)
    }

    @Test func `names an older notification that came after the newer one and overwrote it`() throws
    {
        let newer = Told.notification("EXPIRED", nil, success, uuid: "newer")
        // The row rests on it: signed two days ago, delivered by the retry a day and more later.
        let older = Told.notification(
            "DID_RENEW", at: Sample.now(days: -2), (0, "NO_RESPONSE"), (2000, "SUCCESS"),
            uuid: "older")
        let cause = try #require(Told.search().cause(of: Told.expired, among: [newer, older]))
        #expect(cause.delivery == .outOfOrder)
        #expect(cause.attempt == Sample.now(days: -2, minutes: 2000))
        let inTime = Told.notification("DID_RENEW", at: Sample.now(days: -2), success)
        #expect(try delivery(of: Told.expired, newer, inTime) == .notApplied)
        let elsewhere = Told.notification(
            "DID_RENEW", at: Sample.now(days: -4), (0, "NO_RESPONSE"), (4500, "SUCCESS"))
        #expect(try delivery(of: Told.expired, newer, elsewhere) == .notApplied)
    }

    @Test func `says whether Apple still retries, by Apple's schedule`() throws {
        func isRetried(
            _ attempts: [Int64], environment: String = "Production"
        ) throws -> Bool {
            var sent = Told.notification("EXPIRED", at: Sample.now(minutes: -3000))
            sent.sendAttempts = attempts.map {
                SendAttempt(attemptDate: Sample.now(minutes: $0), result: "TIMED_OUT")
            }
            var finding = Told.expired
            finding.localAsOf = Sample.now(days: -8)
            finding.changedAt = nil
            finding.environment = environment
            return try #require(Told.search().cause(of: finding, among: [sent])).isStillRetried
        }
        #expect(try isRetried([-30]))
        #expect(try isRetried([-130]) == false)
        #expect(try isRetried([-780, -720]))
        #expect(try isRetried([-2000, -1940, -1490]))
        #expect(try isRetried([-9, -8, -7, -6, -5, -4]) == false)
        #expect(try isRetried([-30], environment: "Sandbox") == false)
    }

    @Test func `one without an attempt is not sent yet`() throws {
        #expect(try delivery(of: Told.expired, Told.notification("EXPIRED")) == .notAttempted)
    }

    @Test func `a finding about a notification has that one's delivery for its cause`() throws {
        var missed = Finding(
            kind: .notificationMissed, severity: .high, bundleID: Sample.app.bundleID,
            environment: "Production")
        missed.field = "uuid"
        missed.cause = "no delivery attempt succeeded"
        #expect(try delivery(of: missed, Told.notification("REFUND", nil, refusal)) == .refused)
        let other = Told.notification("REFUND", nil, refusal, uuid: "another")
        let cause = try #require(Told.search().cause(of: missed, among: [other]))
        #expect(cause == FindingCause(text: "no delivery attempt succeeded"))
    }

    @Test func `never sent needs a history that covers the change`() throws {
        #expect(try delivery(of: Told.expired) == .neverSent)
        #expect(try delivery(of: Told.expired, in: Told.search(from: nil)) == .unknown)
        let short = try #require(
            Told.search(from: Sample.now(days: -1)).cause(of: Told.expired, among: []))
        #expect(short.delivery == .unknown)
        #expect(short.text == "unknown: the notification history was not read that far back")
        let recent = Told.finding(
            .accessUnpaid, ours: .integer(1), apple: .integer(2),
            changed: Sample.now(minutes: -40))
        #expect(
            Told.search().cause(of: recent, among: [])?.text
                == "unknown: too recent for the notification history")
    }

    @Test func `a job that reads no history leaves what the rule says`() {
        #expect(
            Told.search(from: nil).cause(of: Told.expired, among: [])?.text
                == "what the rule says")
    }

    @Test func `a change older than what the row rests on was undone by us`() throws {
        let old = Told.finding(
            .accessUnpaid, ours: .integer(1), apple: .integer(2), changed: Sample.now(days: -3))
        #expect(try delivery(of: old) == .changedByUs)
        #expect(try delivery(of: old, in: Told.search(from: nil)) == .changedByUs)
        // The period was charged before the row's statement, though it begins after it.
        let paid = Told.finding(
            .expiry, .expiresDate, ours: .time(Sample.now(days: -1)),
            apple: .time(Sample.now(days: 29)), changed: Sample.now(days: -1))
        let charged = Told.notification("DID_RENEW", at: Sample.now(days: -2, minutes: -1), success)
        #expect(try delivery(of: paid, charged) == .changedByUs)
    }

    @Test func `without a signed date of the change it blames nothing`() throws {
        let cancelled = Told.finding(
            .renewalPreference, .autoRenewStatus, ours: .integer(1), apple: .integer(0))
        #expect(try delivery(of: cancelled) == .unknown)
        let off = Told.notification(
            "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", at: Sample.now(days: -5), success)
        #expect(try delivery(of: cancelled, off) == .changedByUs)
        let on = Told.notification(
            "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", at: Sample.now(days: -4), success,
            uuid: "on")
        #expect(try delivery(of: cancelled, off, on) == .unknown)
    }

    @Test func `a row that does not say what it rests on leaves it open`() throws {
        var finding = Told.finding(
            .renewalPreference, .autoRenewStatus, ours: .integer(1), apple: .integer(0))
        finding.localAsOf = nil
        #expect(try delivery(of: finding) == .unknown)
        let off = Told.notification("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", refusal)
        #expect(try delivery(of: finding, off) == .refused)
    }

    @Test func `a missing period is matched with its own notification`() throws {
        let past = Told.finding(
            .transactionMissing, ours: .null, apple: .text("1"), changed: Sample.now(days: -8))
        let its = Told.notification("DID_RENEW", at: Sample.now(days: -8), refusal)
        let later = Told.notification("DID_RENEW", nil, success, uuid: "later")
        #expect(try delivery(of: past, its, later) == .refused)
        #expect(try delivery(of: past, later) == .neverSent)
    }

    @Test func `a time zone or unit needs no notification`() throws {
        let shifted = Told.finding(
            .expiry, .expiresDate, ours: .time(Sample.now(minutes: 480)), apple: .time(Sample.now))
        let cause = try #require(
            Told.search().cause(
                of: shifted, among: [Told.notification("DID_RENEW", nil, refusal)]))
        #expect(cause == FindingCause(text: "time zone: constant offset of +8 h"))
    }

    @Test func `invents nothing for kinds that no notification could have prevented`() {
        var finding = Told.finding(.identity, .appAccountToken, ours: .text("a"), apple: .text("b"))
        let sent = [Told.notification("DID_RENEW", nil, refusal)]
        #expect(
            Told.search().cause(of: finding, among: sent)
                == FindingCause(text: "what the rule says"))
        finding.cause = nil
        #expect(Told.search().cause(of: finding, among: sent) == nil)
    }
}
