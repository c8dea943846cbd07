package import Subscriptions

extension InMemoryStore {
    package func watermark(of app: AppIdentity) async throws(StoreError) -> Timestamp? {
        try transaction { $0.watermarks[app] }
    }

    package func inbox(
        of app: AppIdentity, notificationUUIDs: [String]
    ) async throws(StoreError) -> [String: InboxRecord] {
        let uuids = Set(notificationUUIDs)
        return try transaction { state in
            (state.inbox[app] ?? [:]).filter { uuids.contains($0.key) }
        }
    }

    package func record(
        _ page: RecordedPage, of app: AppIdentity, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try transaction { state throws(StoreError) in
            _ = try state.run(run, in: pass)
            for traced in page.traced { state.passes[pass.passID]?.trace(traced, of: app) }
            for notification in page.fresh where page.intoInbox {
                var known =
                    state.inbox[app]?[notification.notificationUUID]
                    ?? InboxRecord(receivedAt: nil, recoveredAt: nil)
                known.recoveredAt = known.recoveredAt ?? run.started
                state.inbox[app, default: [:]][notification.notificationUUID] = known
            }
            for question in page.owed {
                state.owe(question, isDurable: run.worksOffAgenda, in: pass.passID)
            }
            let settled = page.settled.filter { outcome in
                outcome.check?.signedDate.map {
                    !state.owesMore(about: outcome.key, than: $0, in: pass.passID)
                } ?? false
            }
            state.stage(StagedBatch(outcomes: settled), in: pass.passID)
            for finding in page.findings {
                state.store(finding, of: nil, mendedBy: nil, in: pass.passID)
            }
        }
    }

    package func finishRecovery(
        of app: AppIdentity, read window: NotificationWindow, watermark: Timestamp?,
        in pass: OpenPass
    ) async throws(StoreError) {
        try transaction { state in
            state.passes[pass.passID]?.histories[app] = window
            if state.passes[pass.passID]?.recovered.contains(app) == false {
                state.passes[pass.passID]?.recovered.append(app)
            }
            if let watermark { state.watermarks[app] = watermark }
        }
    }

    package func historyRead(
        in pass: OpenPass
    ) async throws(StoreError) -> [AppIdentity: NotificationWindow] {
        try transaction { $0.passes[pass.passID]?.histories ?? [:] }
    }

    package func findingsToExplain(
        after sequence: Int64?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [FindingToExplain] {
        try transaction { state in
            guard let pass = state.passes[pass.passID] else { return [] }
            let wanted = pass.findings.filter { !$0.isSuperseded && $0.sequence > sequence ?? 0 }
            return wanted.sorted { $0.sequence < $1.sequence }.prefix(limit).map(pass.explained)
        }
    }

    package func explain(
        _ causes: [Int64: String], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try transaction { state throws(StoreError) in
            let index = try state.run(run, in: pass)
            state.runs[index].causes.merge(causes) { $1 }
        }
    }
}

extension Pass {
    /// Of one notification the first account stands.
    fileprivate mutating func trace(_ notification: TracedNotification, of app: AppIdentity) {
        let key = SubscriptionKey(
            app: app, originalTransactionID: notification.originalTransactionID)
        let isKnown = traced[key]?.contains {
            $0.notificationUUID == notification.notificationUUID
        }
        if isKnown != true { traced[key, default: []].append(notification) }
    }

    fileprivate func explained(_ staged: StagedFinding) -> FindingToExplain {
        let fate = fate(of: staged.correction)
        var finding = staged.finding
        if fate == .heldBack,
            let other = corrections.first(where: { $0.number == staged.correction })?
                .correction.continuedBy.first
        {
            finding.action = .refused
            finding.cause = VetoCause.heldBack(until: other)
        }
        let isWritten = fate == .planned || fate == .applied
        return FindingToExplain(
            sequence: staged.sequence, finding: finding,
            correction: isWritten ? staged.correction : nil,
            notifications: (finding.key.flatMap { traced[$0] } ?? [])
                .sorted { $0.signedDate > $1.signedDate })
    }
}
