import AppStoreServerAPI
import Subscriptions
import TestSupport
import Testing

@Suite struct `Asking for history` {
    private let chain: TestSigningChain
    private let verifier: SignedDataVerifier
    private let id: TransactionID

    init() throws {
        chain = try TestSigningChain()
        verifier = try TestVerifiers.verifier(trusting: chain)
        id = try #require(TransactionID("2000000000000001"))
    }

    @Test func `reads a page and rejects broken entries alone`() async throws {
        let genuine = try chain.sign(SamplePayloads.transaction())
        let body = SamplePayloads.envelope([
            "revision": .string("r1"), "hasMore": .boolean(true),
            "signedTransactions": .array([.string(genuine), .string("a.b.c"), .integer(1)]),
        ])
        let sender = RecordingSender(body: body)
        let client = AppStoreServerClient(sender: sender, verifier: verifier)
        guard case .answered(let page) = try await client.transactionHistory(of: id, after: "r0=&")
        else {
            Issue.record("no answer")
            return
        }
        #expect(page.transactions.map(\.transactionID) == ["2000000000000002"])
        #expect(page.rejected.map(\.failure.reason) == [.format, .format])
        #expect(page.revision == "r1")
        #expect(page.hasMore)
        let request = try #require(sender.requests.first)
        #expect(request.path == "/inApps/v2/history/2000000000000001")
        #expect(request.query.map(\.name) == ["sort", "revision"])
        #expect(request.query.map(\.value) == ["ASCENDING", "r0=&"])
    }

    /// Apple's page of refunds states no app around its transactions.
    @Test func `reads a page of refunds by its own path`() async throws {
        let genuine = try chain.sign(SamplePayloads.transaction())
        let sender = RecordingSender(
            body: """
                {"revision":"r1","hasMore":false,"signedTransactions":["\(genuine)","a.b.c"]}
                """)
        let client = AppStoreServerClient(sender: sender, verifier: verifier)
        guard case .answered(let page) = try await client.refundHistory(of: id, after: "r0=&")
        else {
            Issue.record("no answer")
            return
        }
        #expect(page.transactions.map(\.transactionID) == ["2000000000000002"])
        #expect(page.rejected.map(\.failure.reason) == [.format])
        #expect(page.revision == "r1" && !page.hasMore)
        let request = try #require(sender.requests.first)
        #expect(request.endpoint == .refundHistory)
        #expect(request.path == "/inApps/v2/refund/lookup/2000000000000001")
        #expect(request.query.map(\.name) == ["revision"])
        #expect(request.query.map(\.value) == ["r0=&"])
    }

    @Test(arguments: ["revision", "hasMore"])
    func `takes a page for undecodable that lacks`(member: String) async throws {
        var members: [String: CanonicalJSON] = [
            "revision": .string("r1"), "hasMore": .boolean(false),
        ]
        members[member] = .null
        let body = SamplePayloads.envelope(members)
        let client = AppStoreServerClient(
            sender: RecordingSender(body: body), verifier: verifier)
        guard case .undecodable = try await client.transactionHistory(of: id, after: nil) else {
            Issue.record("it was believed")
            return
        }
    }

    @Test func `asks every page of a window with the same body`() async throws {
        let body = "{\"hasMore\":false,\"notificationHistory\":[]}"
        let sender = RecordingSender(body: body)
        let client = AppStoreServerClient(sender: sender, verifier: verifier)
        let window = NotificationWindow(
            start: Timestamp(unixMilliseconds: 1_749_000_000_000),
            end: Timestamp(unixMilliseconds: 1_750_000_000_000))
        _ = try await client.notificationHistory(in: window, paginationToken: nil)
        _ = try await client.notificationHistory(in: window, paginationToken: "t/1")
        let bodies = sender.requests.map { $0.body.map { String(decoding: $0, as: UTF8.self) } }
        #expect(
            bodies == [
                "{\"endDate\":1750000000000,\"startDate\":1749000000000}",
                "{\"endDate\":1750000000000,\"startDate\":1749000000000}",
            ])
        #expect(sender.requests.map(\.method) == ["POST", "POST"])
        #expect(sender.requests.map(\.query.count) == [0, 1])
        #expect(sender.requests[1].query[0].name == "paginationToken")
        #expect(sender.requests[1].query[0].value == "t/1")
    }

    private func page(of notification: String) async throws -> NotificationPage {
        let item: CanonicalJSON = .object([
            "signedPayload": .string(try chain.sign(notification)),
            "sendAttempts": .array([
                .object([
                    "attemptDate": .integer(1_750_000_000_000),
                    "sendAttemptResult": .string("SUCCESS"),
                ])
            ]),
        ])
        let body = CanonicalJSON.object([
            "hasMore": .boolean(false), "notificationHistory": .array([item]),
        ]).rendered
        let client = AppStoreServerClient(sender: RecordingSender(body: body), verifier: verifier)
        let window = NotificationWindow(
            start: Timestamp(unixMilliseconds: 0), end: Timestamp(unixMilliseconds: 1))
        let lookup = try await client.notificationHistory(in: window, paginationToken: nil)
        guard case .answered(let page) = lookup else {
            throw VerificationFailure(reason: .format, detail: "no answer")
        }
        return page
    }

    @Test(arguments: ["seatData", nil])
    func `takes a notification of a kind of tomorrow for unknown, not for forged`(
        member: String?
    ) async throws {
        var changes: [String: CanonicalJSON] = [
            "data": .null, "notificationType": .string("SEAT_LOST"),
        ]
        if let member { changes[member] = .object(["bundleId": .string("com.example.app")]) }
        let page = try await page(of: SamplePayloads.notification(data: [:], changes))
        #expect(page.rejected.isEmpty)
        let notification = try #require(page.notifications.first)
        #expect(notification.originalTransactionID == nil)
        #expect(
            notification.unknowns.contains(
                UnknownValue(field: "notification.content", value: "SEAT_LOST")))
    }

    @Test func `still refuses a notification that names another app`() async throws {
        let page = try await page(
            of: SamplePayloads.notification(data: ["bundleId": .string("com.example.other")]))
        #expect(page.notifications.isEmpty)
        #expect(page.rejected.map(\.failure.reason) == [.app])
    }

    @Test(arguments: ["Consumable", "Non-Consumable", "Non-Renewing Subscription"])
    func `a notification of what is no subscription has none to ask for`(
        type: String
    ) async throws {
        let transaction = try chain.sign(
            SamplePayloads.transaction([
                "type": .string(type), "webOrderLineItemId": .null, "expiresDate": .null,
            ]))
        let page = try await page(
            of: SamplePayloads.notification(
                data: ["signedTransactionInfo": .string(transaction), "status": .null],
                ["notificationType": .string("ONE_TIME_CHARGE")]))
        #expect(page.rejected.isEmpty)
        #expect(page.notifications.map(\.originalTransactionID) == [nil])
    }

    @Test func `reads notifications and what Apple recorded of sending them`() async throws {
        let transaction = try chain.sign(SamplePayloads.transaction())
        let jws = try chain.sign(
            SamplePayloads.notification(data: ["signedTransactionInfo": .string(transaction)]))
        let attempts: CanonicalJSON = .array([
            .object([
                "attemptDate": .integer(1_750_000_000_500),
                "sendAttemptResult": .string("NO_RESPONSE"),
            ])
        ])
        let body = CanonicalJSON.object([
            "hasMore": .boolean(true), "paginationToken": .string("next"),
            "notificationHistory": .array([
                .object(["signedPayload": .string(jws), "sendAttempts": attempts]),
                .object(["signedPayload": .string("x")]), .null,
            ]),
        ])
        let client = AppStoreServerClient(
            sender: RecordingSender(body: body.rendered), verifier: verifier)
        let window = NotificationWindow(
            start: Timestamp(unixMilliseconds: 0), end: Timestamp(unixMilliseconds: 1))
        let lookup = try await client.notificationHistory(in: window, paginationToken: nil)
        guard case .answered(let page) = lookup else {
            Issue.record("no answer")
            return
        }
        #expect(page.paginationToken == "next")
        #expect(page.rejected.count == 2)
        let notification = try #require(page.notifications.first)
        #expect(notification.originalTransactionID == "2000000000000001")
        #expect(notification.sendAttempts.map(\.result) == ["NO_RESPONSE"])
        #expect(notification.evidence.jws == jws)
    }
}
