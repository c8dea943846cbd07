package import Subscriptions

/// Books of calls that keep a 429 for everybody who books there.
package protocol RefusalBooks: Sendable {
    func book(
        _ wanted: Int, of account: QuotaAccount, limit: Int, givingBack unused: QuotaGrant?,
        at now: Timestamp
    ) async throws -> QuotaGrant

    func keep(
        _ refusal: QuotaRefusal, of account: QuotaAccount, at now: Timestamp
    ) async throws
}

/// What such books promise of a 429, wherever they stand.
package struct KeptRefusals {
    private let told: any RefusalBooks
    private let other: any RefusalBooks
    private let account = QuotaAccount(
        app: AppIdentity(bundleID: "com.example.kept", environment: .production),
        endpoint: "subscription_statuses")

    /// - Parameters:
    ///   - told: Of the process that Apple answers 429.
    ///   - other: Of another process, on the same database.
    package init(told: any RefusalBooks, other: any RefusalBooks) {
        self.told = told
        self.other = other
    }

    /// Tries them; it takes a second.
    ///
    /// - Parameter now: The real present: a server goes by its own clock.
    /// - Returns: The promises that were not kept.
    /// - Throws: What the books throw.
    package func brokenPromises(at now: Timestamp) async throws -> [String] {
        var broken: [String] = []
        func expect(_ isKept: Bool, _ promise: String) { if !isKept { broken.append(promise) } }

        let before = try await book(10, by: told, at: now)
        expect(before.calls == 10 && before.refusal == nil, "calls are booked before a 429")
        let resumption = now.adding(milliseconds: 600_000)
        try await told.keep(
            QuotaRefusal(resumesAt: resumption, rateShare: 0.25), of: account, at: now)
        for (name, books) in [("its own process", told), ("another process", other)] {
            let none = try await book(1, by: books, at: now)
            expect(none.calls == 0, "no call of \(name) is booked")
            let until = none.refusal?.resumesAt.milliseconds(since: resumption) ?? .max
            expect(abs(until) < 5000, "\(name) learns Apple's time")
            expect(none.refusal?.rateShare == 0.25, "\(name) learns the rate")
            let free = none.nextFree?.milliseconds(since: resumption) ?? .max
            expect(abs(free) < 5000, "\(name) learns when a call is free")
        }
        var elsewhere = account
        elsewhere.endpoint = "transaction_history"
        let others = try await other.book(
            1, of: elsewhere, limit: 100, givingBack: nil, at: now)
        expect(others.calls == 1, "another endpoint is not stopped")

        let refused = try await told.book(
            1, of: account, limit: 100, givingBack: before, at: now)
        expect(refused.calls == 0, "giving calls back brings none")
        // A later 429 takes the place of the earlier one.
        try await told.keep(
            QuotaRefusal(resumesAt: now.adding(milliseconds: 300), rateShare: 0.5), of: account,
            at: now)
        try await Task.sleep(for: .milliseconds(1000))
        let later = now.adding(milliseconds: 1000)
        let after = try await book(1, by: other, at: later)
        expect(after.calls == 1 && after.refusal == nil, "calls go on after Apple's time")
        expect(after.usedOfHour == 1, "what was given back meanwhile counts no more")
        return broken
    }

    private func book(
        _ wanted: Int, by books: any RefusalBooks, at now: Timestamp
    ) async throws -> QuotaGrant {
        try await books.book(wanted, of: account, limit: 100, givingBack: nil, at: now)
    }
}
