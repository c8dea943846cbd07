import Subscriptions

extension AppStoreService {
    static let notificationsPerPage = 20
    /// A page token works for so long.
    ///
    /// Apple does not document its life.
    static let pageTokenLifeMilliseconds: Int64 = 3_600_000

    /// Get Notification History: oldest first, as sent.
    func notificationHistory(request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let body = PageTokens.digest(request.body)
        let token = request.value("paginationToken").flatMap { $0.isEmpty ? nil : $0 }
        let page = try token.map { token throws(APIFailure) in
            guard let page = pageTokens.page(token, body: body) else {
                throw .invalidPaginationToken
            }
            return page
        }
        let answer = try withWorld { world, now throws(APIFailure) in
            var question = try NotificationHistoryQuestion(
                body: request.body, now: page?.issued ?? now, environment: self.environment)
            if let page {
                guard now.milliseconds(since: page.issued) <= Self.pageTokenLifeMilliseconds
                else { throw .paginationTokenExpired }
                question.endDate = page.end
            }
            let place = self.distortion == .repeatedToken ? nil : page?.index
            let found = try self.find(question, from: place, in: world, now: now)
            return NotificationPage(
                records: found.records, next: found.next, end: question.endDate,
                issued: page?.issued ?? now, now: now)
        }
        return try write(answer, body: body)
    }

    private struct NotificationPage: Sendable {
        let records: [(record: NotificationRecord, snapshot: ChainSnapshot?)]
        let next: Int?
        let end: Timestamp
        let issued: Timestamp
        let now: Timestamp
    }

    private func find(
        _ question: NotificationHistoryQuestion, from place: Int?, in world: borrowing World,
        now: Timestamp
    ) throws(APIFailure) -> (
        records: [(record: NotificationRecord, snapshot: ChainSnapshot?)], next: Int?
    ) {
        var account: Int?
        if let id = question.transactionID { account = try Self.account(of: id, in: world) }
        if distortion == .emptyData { return ([], nil) }
        var index = place ?? world.firstNotification(notBefore: question.startDate)
        var records: [(record: NotificationRecord, snapshot: ChainSnapshot?)] = []
        while index < world.notifications.count {
            let record = world.notifications[index]
            guard record.date <= question.endDate else { break }
            if isWanted(record, question: question, account: account, in: world, now: now) {
                guard records.count < Self.notificationsPerPage else { return (records, index) }
                let snapshot = record.chain < 0 ? nil : world.snapshot(chain: Int(record.chain))
                records.append((record, snapshot))
            }
            index += 1
        }
        return (records, distortion == .hasMoreForever ? world.notifications.count : nil)
    }

    private func isWanted(
        _ record: NotificationRecord, question: NotificationHistoryQuestion, account: Int?,
        in world: borrowing World, now: Timestamp
    ) -> Bool {
        guard question.admits(record) else { return false }
        if let account {
            guard record.chain >= 0, Int(world.chains[Int(record.chain)].account) == account
            else { return false }
        }
        guard question.onlyFailures else { return true }
        return !record.attempts(in: environment, until: now).contains { $0.result == "SUCCESS" }
    }

    private func write(_ page: NotificationPage, body: UInt64) throws(APIFailure) -> ServiceAnswer {
        var signedRecords: [(jws: [UInt8], attempts: [(date: Timestamp, result: String)])] = []
        for (record, snapshot) in page.records {
            signedRecords.append(
                (
                    try signedNotification(record, snapshot: snapshot),
                    record.attempts(in: environment, until: page.now)
                ))
        }
        let token = page.next.map { next in
            pageTokens.text(
                PageTokens.Page(index: next, end: page.end, issued: page.issued), body: body)
        }
        return .json { json in
            json.field("paginationToken", token)
            json.field("hasMore", token != nil)
            json.key("notificationHistory")
            json.array { json in
                for (jws, attempts) in signedRecords {
                    json.object { json in
                        json.field("signedPayload", jws: jws)
                        Self.write(attempts, into: &json)
                        json.field("firstSendAttemptResult", attempts.first?.result)
                    }
                }
            }
        }
    }

    static func write(
        _ attempts: [(date: Timestamp, result: String)], into json: inout JSONWriter
    ) {
        json.key("sendAttempts")
        json.array { json in
            for attempt in attempts {
                json.object { json in
                    json.field("attemptDate", attempt.date)
                    json.field("sendAttemptResult", attempt.result)
                }
            }
        }
    }

    /// The notification as sent: its parts show the state of that moment and are signed then.
    func signedNotification(
        _ record: NotificationRecord, snapshot: ChainSnapshot?
    ) throws(APIFailure) -> [UInt8] {
        var transaction: [UInt8]?
        var renewal: [UInt8]?
        if let snapshot {
            var stored = snapshot.chain.transactions[Int(record.transaction)]
            stored.revocationDate = record.revocationDate
            if stored.modifiedDate > record.date { stored.isUpgraded = false }
            transaction = try signed(
                encoder.transaction(
                    snapshot, period: Int(record.transaction), transaction: stored,
                    signedDate: record.date))
            if snapshot.chain.isSubscription {
                renewal = try signed(
                    encoder.renewalInfo(
                        snapshot, renewal: record.renewal, transaction: stored,
                        status: Int(record.status), signedDate: record.date))
            }
        }
        return try signed(
            encoder.notification(
                record, uuid: encoder.notificationUUID(record), transaction: transaction,
                renewal: renewal))
    }
}

extension World {
    /// Index of the first notification at or after a moment.
    func firstNotification(notBefore moment: Timestamp) -> Int {
        var low = 0
        var high = notifications.count
        while low < high {
            let middle = (low + high) / 2
            if notifications[middle].date < moment { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
