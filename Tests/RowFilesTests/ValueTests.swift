import RowFiles
import Subscriptions
import Testing

@Suite struct `A value` {
    private func read(
        _ column: String, _ value: String
    ) throws -> (row: LocalSubscription?, reason: String?) {
        let read = try readSubscriptions("original_transaction_id,\(column)\n11,\(value)\n")
        return (read.rows.first, read.bad.first?.reason)
    }

    @Test(arguments: [
        ("2.00000012E+15", "rounded number"), ("2E15", "rounded number"), ("12.0", "rounded"),
        (" 12", "spaces around"), ("12 ", "spaces around"), ("abc", "not a number of digits"),
        ("-12", "not a number of digits"), ("1,2", "fields"), ("٣", "not a number of digits"),
        ("123456789012345678901", "longer than 20 digits"), ("", "is empty"),
        ("\"\"", "is empty"), ("1_000", "not a number"), ("0x1F", "not a number"),
    ])
    func `that is not an id is bad with the reason`(id: String, reason: String) throws {
        let read = try readSubscriptions("original_transaction_id\n\(id)\n")
        #expect(read.rows.isEmpty)
        #expect(read.bad.first?.reason.contains(reason) == true, "\(read.bad)")
    }

    @Test(arguments: ["0", "1", "12345678901234567890", "0011"])
    func `that is an id is kept digit by digit`(id: String) throws {
        let read = try readSubscriptions("original_transaction_id\n\(id)\n")
        #expect(read.rows.map(\.key.originalTransactionID) == [id])
    }

    @Test(arguments: ["latest_transaction_id", "web_order_line_item_id"])
    func `of another id column is checked too`(column: String) throws {
        #expect(try read(column, "2E+15").reason?.contains("rounded") == true)
        #expect(try read(column, "").reason == nil)
    }

    @Test(arguments: ["0", "6", "active", "1.0", "-1", "99999999999999999999"])
    func `that is not a status is bad`(status: String) throws {
        #expect(try read("status", status).reason?.contains("is not a status") == true)
    }

    @Test(arguments: 1...5) func `of a status is Apple's number`(status: Int) throws {
        #expect(try read("status", "\(status)").row?.status == status)
    }

    @Test(arguments: ["2", "true", "on"])
    func `of auto_renew_status is 0 or 1`(value: String) throws {
        #expect(try read("auto_renew_status", value).reason?.contains("0 (off) or 1") == true)
        #expect(try read("auto_renew_status", "1").row?.autoRenewStatus == 1)
    }

    @Test(arguments: [
        "2026-02-29T00:00:00Z", "2026-11-20", "2026-11-20T03:17:04", "20.11.2026", "yesterday",
        "1700000000000", "2026-11-20T24:00:00Z", "2026-13-01T00:00:00Z",
    ])
    func `that is no RFC 3339 time is bad`(time: String) throws {
        let reason = try read("expires_date", time).reason
        #expect(reason?.contains("not a time") == true, "\(String(describing: reason))")
    }

    @Test func `of a time keeps its milliseconds and its offset`() throws {
        let time = try read("expires_date", "2026-11-20T05:17:04.123+02:00").row?.expiresDate
        #expect(time?.rfc3339 == "2026-11-20T03:17:04.123Z")
    }

    @Test func `of an ownership type is kept as it stands, known or not`() throws {
        #expect(
            try read("in_app_ownership_type", "LENT").row?.inAppOwnershipType == "LENT")
    }

    @Test func `of an environment is spelled as Apple does`() throws {
        #expect(try read("environment", "production").reason?.contains("write Production") == true)
        #expect(try read("environment", "Xcode").reason?.contains("Production, Sandbox") == true)
        let sandbox = try readSubscriptions(
            "original_transaction_id,environment,bundle_id\n11,Sandbox,com.other\n")
        #expect(
            sandbox.rows.first?.key
                == SubscriptionKey(
                    bundleID: "com.other", environment: "Sandbox", originalTransactionID: "11"))
    }

    @Test func `of bundle and environment may be absent when one app is configured`() throws {
        let key = try readSubscriptions("original_transaction_id\n11\n").rows.first?.key
        #expect(key?.bundleID == "com.example.app")
        #expect(key?.environment == "Production")
    }

    @Test func `of bundle and environment must say which of several apps is meant`() throws {
        let apps =
            oneApp + [
                AppIdentity(bundleID: "com.example.app", environment: .sandbox),
                AppIdentity(bundleID: "com.example.other", environment: .sandbox),
            ]
        let read = try readSubscriptions(
            """
            original_transaction_id,bundle_id,environment
            11,,
            12,com.example.app,
            13,com.example.other,
            14,,Production
            15,com.unknown,
            16,com.unknown,Sandbox

            """, apps: apps)
        #expect(read.rows.map(\.key.originalTransactionID) == ["13", "14", "16"])
        #expect(read.rows.map(\.key.environment) == ["Sandbox", "Production", "Sandbox"])
        #expect(read.bad.map(\.line) == [2, 3, 6])
        #expect(read.bad[0].reason.contains("com.example.app in Sandbox"))
        #expect(read.bad[2].reason.contains("no configured app fits"))
    }

    @Test func `is quoted in a reason without what a terminal would obey`() throws {
        let reason = try read("status", "\u{1B}[31m\u{202E}" + String(repeating: "9", count: 100))
            .reason
        #expect(reason?.contains("\u{1B}") == false)
        #expect(reason?.contains("\u{202E}") == false)
        #expect(reason?.contains("…") == true)
    }
}
