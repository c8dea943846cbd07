import Subscriptions

/// Payloads as Apple writes them, with any member replaced, added or (by null) left out.
enum SamplePayloads {
    static func transaction(_ changes: [String: CanonicalJSON] = [:]) -> String {
        rendered(
            [
                "transactionId": .string("2000000000000002"),
                "originalTransactionId": .string("2000000000000001"),
                "webOrderLineItemId": .string("2000000000000900"),
                "bundleId": .string("com.example.app"),
                "productId": .string("com.example.monthly"),
                "subscriptionGroupIdentifier": .string("20001"),
                "purchaseDate": .integer(1_749_000_000_000),
                "originalPurchaseDate": .integer(1_700_000_000_000),
                "expiresDate": .integer(1_751_600_000_000),
                "quantity": .integer(1), "type": .string("Auto-Renewable Subscription"),
                "inAppOwnershipType": .string("PURCHASED"),
                "signedDate": .integer(1_750_000_000_000),
                "environment": .string("Production"), "storefront": .string("USA"),
                "price": .integer(9_990), "currency": .string("USD"),
            ], changes)
    }

    static func renewalInfo(_ changes: [String: CanonicalJSON] = [:]) -> String {
        rendered(
            [
                "originalTransactionId": .string("2000000000000001"),
                "productId": .string("com.example.monthly"),
                "autoRenewProductId": .string("com.example.monthly"),
                "autoRenewStatus": .integer(1), "renewalDate": .integer(1_751_600_000_000),
                "signedDate": .integer(1_750_000_000_001), "environment": .string("Production"),
            ], changes)
    }

    static func notification(
        data: [String: CanonicalJSON], _ changes: [String: CanonicalJSON] = [:]
    ) -> String {
        let content: [String: CanonicalJSON] = [
            "environment": .string("Production"), "appAppleId": .integer(1_234_567_890),
            "bundleId": .string("com.example.app"), "status": .integer(1),
        ]
        return rendered(
            [
                "notificationType": .string("DID_RENEW"),
                "notificationUUID": .string("7e3fb20b-4cdb-47cc-936d-99d65f608138"),
                "version": .string("2.0"), "signedDate": .integer(1_750_000_000_000),
                "data": .object(content.merging(data) { _, new in new }),
            ], changes)
    }

    static func envelope(_ changes: [String: CanonicalJSON]) -> String {
        rendered(
            [
                "environment": .string("Production"), "bundleId": .string("com.example.app"),
                "appAppleId": .integer(1_234_567_890),
            ], changes)
    }

    /// An answer of Get All Subscription Statuses with these entries in one group.
    static func statuses(_ entries: [[String: CanonicalJSON]]) -> String {
        envelope([
            "data": .array([
                .object([
                    "subscriptionGroupIdentifier": .string("20001"),
                    "lastTransactions": .array(entries.map { .object($0) }),
                ])
            ])
        ])
    }

    private static func rendered(
        _ members: [String: CanonicalJSON], _ changes: [String: CanonicalJSON]
    ) -> String {
        let merged = members.merging(changes) { _, new in new }
        return CanonicalJSON.object(merged.filter { $0.value != .null }).rendered
    }
}
