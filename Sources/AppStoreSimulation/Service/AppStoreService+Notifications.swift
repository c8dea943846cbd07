import Subscriptions

extension AppStoreService {
    /// How long a page token is valid; Apple does not document it.
    static let pageTokenLifetimeMilliseconds = CivilCalendar.millisecondsPerHour

    /// Get Notification History: oldest first, with the contents as sent.
    func notificationHistory(request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let token = request.value("paginationToken").flatMap { $0.isEmpty ? nil : $0 }
        let page = try token.map { token throws(APIFailure) in
            guard let page = pageTokens.claimedPage(token) else { throw .invalidPaginationToken }
            return page
        }
        let answer = try withWorld { world, now throws(APIFailure) in
            var query = try NotificationHistoryRequest(
                body: request.body, now: page?.issued ?? now, environment: self.environment)
            let digest = query.fingerprint
            if let page, let token {
                guard self.pageTokens.admits(token, page, queryDigest: digest) else {
                    throw .invalidPaginationToken
                }
                guard now.milliseconds(since: page.issued) <= Self.pageTokenLifetimeMilliseconds
                else { throw .paginationTokenExpired }
                query.endDate = page.end
            }
            let place = self.distortions.contains(.repeatedToken) ? nil : page
            let found = try self.find(query, from: place, in: world, now: now)
            return NotificationPage(
                records: found.records, next: found.next, queryDigest: digest,
                end: query.endDate, issued: page?.issued ?? now, now: now)
        }
        return try write(answer)
    }

    /// A position in the history: a number of records after a moment.
    private struct NotificationPlace: Sendable {
        let from: Timestamp
        let skip: Int
    }

    private struct NotificationPage: Sendable {
        let records: [NotificationSnapshot]
        let next: NotificationPlace?
        /// The digest of the query, to which page tokens are bound.
        let queryDigest: UInt64
        let end: Timestamp
        let issued: Timestamp
        let now: Timestamp
    }

    private func find(
        _ query: NotificationHistoryRequest, from page: PageTokens.Page?,
        in world: borrowing World, now: Timestamp
    ) throws(APIFailure) -> (
        records: [NotificationSnapshot], next: NotificationPlace?
    ) {
        var account: Int?
        if let id = query.transactionID { account = try Self.account(of: id, in: world) }
        if distortions.contains(.emptyData) { return ([], nil) }
        var index =
            page.map { world.firstNotification(notBefore: $0.from) + $0.skip }
            ?? world.firstNotification(notBefore: query.startDate)
        var records: [NotificationSnapshot] = []
        while index < world.notifications.count {
            let record = world.notifications[index]
            guard record.date <= query.endDate else { break }
            if isWanted(record, query: query, account: account, in: world, now: now) {
                guard records.count < entriesPerPage else {
                    let first = world.firstNotification(notBefore: record.date)
                    return (records, NotificationPlace(from: record.date, skip: index - first))
                }
                records.append(world.snapshot(of: record))
            }
            index += 1
        }
        let beyond = NotificationPlace(from: query.endDate.adding(milliseconds: 1), skip: 0)
        return (records, distortions.contains(.hasMoreForever) ? beyond : nil)
    }

    private func isWanted(
        _ record: NotificationRecord, query: NotificationHistoryRequest, account: Int?,
        in world: borrowing World, now: Timestamp
    ) -> Bool {
        guard query.admits(record), !isHidden(record, now: now) else { return false }
        if let account, world.account(of: record) != account { return false }
        guard query.onlyFailures else { return true }
        return !record.attempts(in: environment, until: now).contains { $0.result == "SUCCESS" }
    }

    private func isHidden(_ record: NotificationRecord, now: Timestamp) -> Bool {
        guard !listingFaults.isEmpty else { return false }
        let uuid = encoder.notificationUUID(record)
        return listingFaults.contains { $0.hides(uuid: uuid, date: record.date, now: now) }
    }

    private func write(_ page: NotificationPage) throws(APIFailure) -> ServiceAnswer {
        var signedRecords: [(jws: [UInt8], attempts: [(date: Timestamp, result: String)])] = []
        for notification in page.records {
            signedRecords.append(
                (
                    try signed(notification),
                    notification.record.attempts(in: environment, until: page.now)
                ))
        }
        let token = page.next.map { next in
            pageTokens.text(
                PageTokens.Page(
                    from: next.from, skip: next.skip, end: page.end, issued: page.issued),
                queryDigest: page.queryDigest)
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

    /// The notification as sent: its parts show the state of that moment and have its signed date.
    func signed(_ notification: NotificationSnapshot) throws(APIFailure) -> [UInt8] {
        let record = notification.record
        var transaction: [UInt8]?
        var renewal: [UInt8]?
        if let snapshot = notification.purchase, let then = record.transactionAsSent {
            let period = Int(record.transaction)
            let stored = then.restored(snapshot.chain.transactions[period])
            transaction = try signed(
                encoder.transaction(
                    snapshot, period: period, transaction: stored, signedDate: record.date),
                at: record.date)
            if snapshot.chain.isSubscription {
                renewal = try signed(
                    encoder.renewalInfo(
                        snapshot.with(streakStart: record.streakStart), renewal: record.renewal,
                        transaction: stored, status: Int(record.status), signedDate: record.date),
                    at: record.date)
            }
        }
        var appTransaction: [UInt8]?
        if case .appTransaction(let account, let bought) = notification.subject {
            appTransaction = try signed(
                encoder.appTransaction(account: account, bought: bought, now: record.date),
                at: record.date)
        }
        return try signed(
            encoder.notification(
                record, about: notification.subject, uuid: encoder.notificationUUID(record),
                transaction: transaction, renewal: renewal, appTransaction: appTransaction),
            at: record.date)
    }
}

extension ChainSnapshot {
    /// The snapshot with an earlier `streakStart`.
    fileprivate func with(streakStart: Timestamp) -> ChainSnapshot {
        var chain = chain
        chain.streakStart = streakStart
        return with(chain)
    }
}
