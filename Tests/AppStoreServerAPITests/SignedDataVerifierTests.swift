import AppStoreServerAPI
import JSONWebSignature
import Subscriptions
import TestSupport
import Testing

@Suite struct `Signed data` {
    let chain: TestSigningChain
    let verifier: SignedDataVerifier

    init() throws {
        chain = try TestSigningChain()
        verifier = try TestVerifiers.verifier(trusting: chain)
    }

    @Test func `states a transaction with all that a judgement needs`() async throws {
        let jws = try chain.sign(SamplePayloads.transaction())
        let statement = try await verifier.signedTransaction(Array(jws.utf8)[...])
        #expect(statement.evidence.jws == jws)
        #expect(
            statement.evidence.digest.hexadecimal
                == VerifiedJWS.digest(of: Array(jws.utf8)[...]))
        #expect(statement.originalTransactionID == "2000000000000001")
        #expect(statement.expiresDate == Timestamp(unixMilliseconds: 1_751_600_000_000))
        #expect(statement.price == 9_990)
        #expect(!statement.isUpgraded)
        #expect(statement.revocationReason == nil)
        #expect(statement.unknowns == [])
    }

    @Test func `sums up what seats cost, by price tiers`() async throws {
        let tiers: CanonicalJSON = .array([
            .object(["price": .integer(4_990), "quantity": .integer(2)]),
            .object(["price": .integer(3_990), "quantity": .integer(3)]),
        ])
        let jws = try chain.sign(
            SamplePayloads.transaction([
                "quantity": .integer(5), "price": .integer(4_390),
                "additionalTransactionReason": .string("SEAT_ADDITION"),
                "multiSeatInfo": .object([
                    "priceTiers": tiers, "revokedSeatQuantity": .integer(2),
                ]),
            ]))
        let statement = try await verifier.signedTransaction(Array(jws.utf8)[...])
        let price: Int64 = 2 * 4_990 + 3 * 3_990
        #expect(statement.price == price)
        #expect(
            statement.seats
                == SignedSeats(
                    quantity: 5, revoked: 2, sharesPeriod: true, pricePerSeat: 4_390))
        #expect(statement.unknowns == [])
    }

    static let emptyTiers: [CanonicalJSON] = [
        .null, .array([]), .array([.integer(1)]),
        .array([.object(["price": .integer(.max), "quantity": .integer(2)])]),
    ]

    @Test(arguments: emptyTiers)
    func `takes the average where the price tiers say nothing`(tiers: CanonicalJSON) async throws {
        let jws = try chain.sign(
            SamplePayloads.transaction([
                "quantity": .integer(5), "price": .integer(4_390),
                "multiSeatInfo": .object(["priceTiers": tiers]),
            ]))
        let statement = try await verifier.signedTransaction(Array(jws.utf8)[...])
        #expect(statement.price == 21_950)
    }

    @Test func `has no seats in a purchase for one`() async throws {
        for change: [String: CanonicalJSON] in [
            ["quantity": .integer(1)],
            ["quantity": .integer(7), "type": .string("Consumable")],
        ] {
            let jws = try chain.sign(SamplePayloads.transaction(change))
            let statement = try await verifier.signedTransaction(Array(jws.utf8)[...])
            #expect(statement.seats == nil && statement.price == 9_990)
        }
        let huge = try chain.sign(
            SamplePayloads.transaction(["quantity": .integer(.max), "price": .integer(.max)]))
        #expect(try await verifier.signedTransaction(Array(huge.utf8)[...]).price == nil)
    }

    @Test func `accepts released seats with or without the app, and no other app's`() async throws {
        func notification(_ info: [String: CanonicalJSON]) throws -> String {
            try chain.sign(
                CanonicalJSON.object([
                    "notificationType": .string("UNCLAIM_SEATS"), "version": .string("2.0"),
                    "notificationUUID": .string("5c1e5ef0-9a3c-4a5b-b2fb-c3a1af68eb20"),
                    "signedDate": .integer(1_750_000_000_000), "unclaimInfo": .object(info),
                ]).rendered)
        }
        let seats: [String: CanonicalJSON] = ["unclaimSeatIds": .array([.string("a")])]
        let recorded = try await verifier.recordedNotification(
            Array(try notification(seats).utf8)[...], sendAttempts: [])
        #expect(recorded.originalTransactionID == nil && recorded.unknowns == [])
        var named = seats
        named["bundleId"] = .string("com.example.other")
        named["environment"] = .string("Production")
        #expect(await refusal(ofNotification: try notification(named)) == .app)
    }

    @Test func `refuses another app and another environment`() async throws {
        let otherApp = try chain.sign(
            SamplePayloads.transaction(["bundleId": .string("com.example.other")]))
        #expect(await refusal(ofTransaction: otherApp) == .app)
        for environment in ["Sandbox", "Xcode", "LocalTesting", "production"] {
            let jws = try chain.sign(
                SamplePayloads.transaction(["environment": .string(environment)]))
            #expect(await refusal(ofTransaction: jws) == .environment)
        }
        let renewal = try chain.sign(
            SamplePayloads.renewalInfo(["environment": .string("Sandbox")]))
        await #expect(throws: VerificationFailure.self) {
            try await verifier.signedRenewal(Array(renewal.utf8)[...])
        }
    }

    @Test(arguments: ["transactionId", "originalTransactionId", "signedDate"])
    func `refuses a transaction that lacks`(member: String) async throws {
        let jws = try chain.sign(SamplePayloads.transaction([member: .null]))
        #expect(await refusal(ofTransaction: jws) == .format)
    }

    @Test func `refuses a needed member of another type and tolerates others`() async throws {
        let needed = try chain.sign(
            SamplePayloads.transaction(["expiresDate": .string("1751600000000")]))
        #expect(await refusal(ofTransaction: needed) == .format)
        let other = try chain.sign(SamplePayloads.transaction(["storefront": .integer(7)]))
        let statement = try await verifier.signedTransaction(Array(other.utf8)[...])
        #expect(statement.unknowns == [UnknownValue(field: "transaction.storefront", value: "7")])
    }

    @Test func `keeps and counts what it does not know`() async throws {
        let jws = try chain.sign(
            SamplePayloads.transaction([
                "offerType": .integer(9), "inAppOwnershipType": .string("BORROWED"),
                "seatPlan": .object(["a": .integer(1)]),
            ]))
        let statement = try await verifier.signedTransaction(Array(jws.utf8)[...])
        #expect(statement.offerType == 9)
        #expect(statement.inAppOwnershipType == "BORROWED")
        #expect(
            Set(statement.unknowns) == [
                UnknownValue(field: "transaction.offerType", value: "9"),
                UnknownValue(field: "transaction.inAppOwnershipType", value: "BORROWED"),
                UnknownValue(field: "transaction.seatPlan", value: nil),
            ])
    }

    @Test func `refuses a member that stands there twice`() async throws {
        let payload = SamplePayloads.transaction().dropLast() + ",\"bundleId\":\"com.example.app\"}"
        #expect(await refusal(ofTransaction: try chain.sign(String(payload))) == .format)
    }

    @Test func `verifies what is signed inside a notification`() async throws {
        let transaction = try chain.sign(SamplePayloads.transaction())
        let renewal = try chain.sign(SamplePayloads.renewalInfo())
        let genuine = try chain.sign(
            SamplePayloads.notification(data: [
                "signedTransactionInfo": .string(transaction),
                "signedRenewalInfo": .string(renewal),
            ]))
        let notification = try await verifier.recordedNotification(
            Array(genuine.utf8)[...], sendAttempts: [])
        #expect(notification.originalTransactionID == "2000000000000001")

        let foreign = try TestSigningChain().sign(SamplePayloads.transaction())
        let forged = try chain.sign(
            SamplePayloads.notification(data: ["signedTransactionInfo": .string(foreign)]))
        #expect(await refusal(ofNotification: forged) == .chain)

        let other = try chain.sign(
            SamplePayloads.renewalInfo(["originalTransactionId": .string("3")]))
        let mixed = try chain.sign(
            SamplePayloads.notification(data: [
                "signedTransactionInfo": .string(transaction), "signedRenewalInfo": .string(other),
            ]))
        #expect(await refusal(ofNotification: mixed) == .crossCheck)
    }

    @Test func `compares the id of the app in production only`() async throws {
        let other = try chain.sign(
            SamplePayloads.notification(data: ["appAppleId": .integer(1)]))
        #expect(await refusal(ofNotification: other) == .app)
        let absent = try chain.sign(SamplePayloads.notification(data: ["appAppleId": .null]))
        #expect(await refusal(ofNotification: absent) == .app)
        let sandbox = try TestVerifiers.verifier(
            trusting: chain, environment: .sandbox, appAppleID: nil)
        let data: [String: CanonicalJSON] = [
            "appAppleId": .integer(1), "environment": .string("Sandbox"),
        ]
        let jws = try chain.sign(SamplePayloads.notification(data: data))
        _ = try await sandbox.notification(Array(jws.utf8)[...])
    }

    @Test func `pins Apple's root by its fingerprint`() throws {
        let roots = try TrustedRoots(fingerprints: [AppleCertificates.rootG3Fingerprint])
        #expect(roots.listing.map(\.fingerprint) == [AppleCertificates.rootG3Fingerprint])
        #expect(roots.listing[0].certificate == nil)
    }

    private func refusal(ofTransaction jws: String) async -> VerificationFailure.Reason? {
        do {
            _ = try await verifier.signedTransaction(Array(jws.utf8)[...])
            return nil
        } catch {
            return error.reason
        }
    }

    private func refusal(ofNotification jws: String) async -> VerificationFailure.Reason? {
        do {
            _ = try await verifier.recordedNotification(Array(jws.utf8)[...], sendAttempts: [])
            return nil
        } catch {
            return error.reason
        }
    }
}
