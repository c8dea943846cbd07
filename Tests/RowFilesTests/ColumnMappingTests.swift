import RowFiles
import Subscriptions
import Testing

@Suite struct `Columns with other names` {
    private func read(
        _ text: String, _ ours: [String: String?], as name: String = ".csv"
    ) throws -> ReadRows<SubscriptionField, LocalSubscription> {
        let file = try RowFixture(Array(text.utf8), name: name)
        return try ReadRows(
            SubscriptionFileReader(
                subscriptionsAt: file.path, apps: oneApp, mapping: ColumnMapping(ours)))
    }

    private func error(_ text: String, _ ours: [String: String?], as name: String = ".csv")
        -> String
    {
        do {
            _ = try read(text, ours, as: name)
            return "none"
        } catch {
            return "\(error)"
        }
    }

    @Test func `are read as ours, and ignored ones not at all`() throws {
        let read = try read(
            "otid,User Id,plan,status\n11,c1,\"a,b\",1\n12,c2,,2\n",
            ["otid": "original_transaction_id", "User Id": "customer_id", "plan": nil])
        #expect(read.bad.isEmpty)
        #expect(read.columns == [.originalTransactionID, .customerID, .status])
        #expect(read.rows.map(\.key.originalTransactionID) == ["11", "12"])
        #expect(read.rows.map(\.customerID) == ["c1", "c2"])
        #expect(read.rows.map(\.status) == [1, 2])
    }

    @Test func `may take the place of one of trueup's that is ignored`() throws {
        let read = try read(
            "original_transaction_id,status,apple_status\n11,active,1\n",
            ["status": nil, "apple_status": "status"])
        #expect(read.rows.map(\.status) == [1])
    }

    @Test func `are keys of JSON Lines, whatever ignored ones hold`() throws {
        let read = try read(
            """
            {"otid":"11","deep":{"a":[1,{"b":"}]"},"\\"{"],"c":null},"customer_id":"c"}
            {"deep":[],"otid":12}
            {"ot\\u0069d":"13","deep":-1.5e3}

            """,
            ["otid": "original_transaction_id", "deep": nil], as: ".jsonl")
        #expect(read.bad.isEmpty, "\(read.bad)")
        #expect(read.columns == [.originalTransactionID, .customerID])
        #expect(read.rows.map(\.key.originalTransactionID) == ["11", "12", "13"])
        #expect(read.rows.map(\.customerID) == ["c", nil, nil])
    }

    @Test(arguments: [
        "{\"otid\":\"11\",\"deep\":{}", "{\"otid\":\"11\",\"deep\":{",
        "{\"otid\":\"11\",\"deep\":]}",
        "{\"otid\":\"11\",\"deep\":}", "{\"otid\":\"11\",\"deep\":,}",
        "{\"otid\":\"11\",\"deep\":{\"a}",
        "{\"otid\":\"11\",\"deep\":{x}}", "{\"otid\":\"11\",\"other\":1}",
        "{\"otid\":\"11\",\"original_transaction_id\":\"12\"}",
    ])
    func `leave a broken line of JSON bad`(line: String) throws {
        let good = "{\"otid\":\"10\",\"deep\":1}\n"
        let read = try read(
            good + line + "\n" + good, ["otid": "original_transaction_id", "deep": nil],
            as: ".jsonl")
        #expect(read.lines == [1, 3])
        #expect(read.bad.map(\.line) == [2])
    }

    @Test func `must be there, or a near one is named`() throws {
        let ours: [String: String?] = ["customer": "customer_id"]
        #expect(
            error("original_transaction_id,custmer\n11,c\n", ours)
                .contains(
                    ":1: has no column \"customer\", which --map or --ignore names; did you mean \"custmer\"?"
                ))
        #expect(
            error("{\"original_transaction_id\":\"1\",\"custmer\":\"c\"}\n", ours, as: ".jsonl")
                .contains(
                    "has no key \"customer\", which --map or --ignore names; did you mean \"custmer\"?"
                ))
        let both: [String: String?] = ["customer": "customer_id", "user": nil]
        #expect(
            error("original_transaction_id,custmer\n11,c\n", both).contains(
                ":1: has none of 2 columns that --map and --ignore name: \"customer\"; did you mean "
                    + "\"custmer\"?, \"user\""))
        // Another unknown key is not a missing one.
        let late = "{\"plan\":{},\"original_transaction_id\":\"1\",\"customer\":\"c\"}\n"
        #expect(error(late, ours, as: ".jsonl") == "none")
        #expect(try read(late, ours, as: ".jsonl").bad.first?.reason.contains("\"plan\"") == true)
        #expect(error("original_transaction_id\n11\n", ["x": nil]).contains("has no column \"x\""))
    }

    @Test func `must not mean the same as another`() {
        #expect(
            error(
                "otid,original_transaction_id\n1,2\n", ["otid": "original_transaction_id"]
            ).contains(
                "columns \"otid\" and \"original_transaction_id\" both mean original_transaction_id"
            ))
    }

    @Test func `are hinted at where there are unknown ones or none`() {
        #expect(error("original_transaction_id,plan\n", [:]).contains("--map COLUMN=OURS"))
        #expect(error("status\n", [:]).contains("--map COLUMN=original_transaction_id"))
    }

    @Test(arguments: [
        ("PK\u{3}\u{4},x\n", ".xlsx"), ("[{\"original_transaction_id\":\"1\"},{}]", "jq -c"),
        ("original_transaction_id;status\n", "semicolons"),
        ("original_transaction_id\tstatus\n", "tabs"),
    ])
    func `are not looked for in what is no CSV`(text: String, says: String) {
        #expect(error(text, [:], as: "").contains(says))
    }
}
