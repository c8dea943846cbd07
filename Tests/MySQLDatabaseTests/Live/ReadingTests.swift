#if MySQL
    import MySQLDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    @Suite(.enabled(if: OwnMariaDB.isInstalled, "needs a MariaDB server (apt: mariadb-server)"))
    struct `Reading a company's table in MySQL` {
        private func all(_ company: MySQLCompany, limit: Int) throws -> [CompanyRow] {
            var rows: [CompanyRow] = []
            var cursor: CompanyCursor?
            repeat {
                let page = try company.rows(after: cursor, limit: limit)
                rows += page.rows
                cursor = page.next
            } while cursor != nil
            return rows
        }

        @Test func `meets every row once, with values of every type`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: false)
            let rows = try all(live.company, limit: 10)
            #expect(rows.map(\.key) == (1...25).map(LiveCompany.key))
            #expect(rows.allSatisfy { $0.unreadable.isEmpty })
            let values = rows[0].values
            #expect(values[.customerID] == .text("00112233-4455-6677-8899-aabbccddeeff"))
            #expect(
                values[.expiresDate]
                    == .time(try #require(Timestamp(rfc3339: "2026-11-20T03:17:04.125Z"))))
            #expect(
                values[.revocationDate]
                    == .time(try #require(Timestamp(rfc3339: "2026-11-20T03:17:04Z"))))
            #expect(values[.status] == .integer(1))
            #expect(values[.autoRenewStatus] == .integer(1))
            #expect(values[.webOrderLineItemID] == .text("18446744073709551615"))
            #expect(values[.autoRenewProductID] == .text("x"))
            #expect(values[.gracePeriodExpiresDate] == .null)
            #expect(rows[0].version == 1)
            #expect(try live.company.row(LiveCompany.key(1)) == rows[0])
            #expect(try live.company.row(LiveCompany.key(26)) == nil)
            // A look leaves nothing of ours there.
            #expect(try live.sql("SHOW TABLES") == "subs")
        }

        /// Names in the order of their bytes, of which the collation takes several for one.
        @Test(arguments: ["utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_bin"])
        func `loses no row whose key another one has for its collation`(collation: String) throws {
            let ids = [
                "a", "A", "a ", "ä", "Ä", "b", "B", "b  ", "c", "é", "e", "E", "ss", "ß", "z",
            ]
            let live = try LiveCompany(
                preparing: """
                    DELETE FROM subs; ALTER TABLE subs DROP PRIMARY KEY,
                        MODIFY original_transaction_id VARCHAR(64) COLLATE \(collation) NOT NULL,
                        ADD KEY (original_transaction_id);
                    """
                        + ids.map { id in
                            """
                            INSERT INTO subs (user_id, original_transaction_id, product_id, status)
                            VALUES ('', '\(id)', 'p', 'active');
                            """
                        }.joined())
            for limit in [1, 2, 3, 4, 7, 100] {
                let found = try all(live.company, limit: limit).map(\.key.originalTransactionID)
                #expect(found.sorted() == ids.sorted(), "\(limit) \(found)")
            }
            for id in ids {
                let key = SubscriptionKey(
                    bundleID: "com.example.app", environment: "Production",
                    originalTransactionID: id)
                #expect(try live.company.row(key)?.key == key)
            }
        }

        @Test func `reads a key of twenty digits and of numbers by its column`() throws {
            var mapping = LiveCompany.mapping
            mapping.columns[.originalTransactionID] = .column("big", .integer)
            mapping.columns[.webOrderLineItemID] = nil
            let live = try LiveCompany(
                preparing: "UPDATE subs SET big = 9007199254740992 + lock_version * 0 + "
                    + "CAST(RIGHT(original_transaction_id, 2) AS UNSIGNED); UPDATE subs SET big = "
                    + "18446744073709551614 WHERE original_transaction_id = '2000000000000025';",
                mapping: mapping)
            try live.company.check(mayWrite: true)
            let rows = try all(live.company, limit: 4)
            #expect(rows.count == 25)
            for row in rows { #expect(try live.company.row(row.key) == row) }
            for id in ["9007199254740992", "x", "9007199254740993 ", "18446744073709551615"] {
                let key = SubscriptionKey(
                    bundleID: "com.example.app", environment: "Production",
                    originalTransactionID: id)
                #expect(try live.company.row(key) == nil)
            }
            let greatest = try #require(rows.last)
            #expect(greatest.key.originalTransactionID == "18446744073709551614")
            try live.company.begin()
            #expect(
                try live.company.write(LiveCompany.expire(greatest)) == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            #expect(try live.sql("SELECT count(*) FROM subs WHERE status = 'expired'") == "1")
        }

        @Test func `uses the index of the key for every page`() throws {
            let live = try LiveCompany(
                preparing: """
                    CREATE TABLE many (app VARCHAR(50) NOT NULL, env VARCHAR(20) NOT NULL,
                        id VARCHAR(40) NOT NULL, status INT, PRIMARY KEY (app, env, id));
                    INSERT INTO many SELECT 'com.example.app', 'Production', 100000 + seq, 1
                        FROM seq_1_to_5000; ANALYZE TABLE many;
                    """)
            var mapping = TableMapping(
                table: CompanyTableName(name: "many"),
                columns: [
                    .originalTransactionID: .column("id", .text), .bundleID: .column("app", .text),
                    .environment: .column("env", .text), .status: .column("status", .integer),
                ])
            mapping.statusWords = nil
            let statement = MappedStatements(mapping, for: .mysql).page(
                after: ["com.example.app", "Production", "104990"], limit: 10)
            var sql = statement.sql
            for argument in statement.arguments {
                let text: String
                switch argument {
                case .text(let value): text = "'\(value)'"
                case .integer(let number): text = "\(number)"
                default: text = "NULL"
                }
                sql = sql.replacingFirst("?", with: text)
            }
            let handlers = try live.sql(
                """
                FLUSH STATUS; \(sql);
                SELECT 'read', SUM(VARIABLE_VALUE) FROM information_schema.SESSION_STATUS
                WHERE VARIABLE_NAME IN ('HANDLER_READ_NEXT', 'HANDLER_READ_RND_NEXT', 'HANDLER_READ_PREV')
                """)
            let last = try #require(handlers.split(separator: "\n").last)
            let read = try #require(last.split(separator: "\t").last.flatMap { Double($0) })
            #expect(read < 60, "\(handlers)")
        }

        @Test func `names a value that has no meaning, and reads the rest`() throws {
            let live = try LiveCompany(
                preparing: "UPDATE subs SET status = 'on hold', payload = NULL "
                    + "WHERE original_transaction_id = '2000000000000001';")
            let row = try #require(try live.company.row(LiveCompany.key(1)))
            #expect(row.unreadable == [.status: "on hold"])
            #expect(row.values[.productID] == .text("com.example.pro"))
            #expect(row.values[.autoRenewProductID] == .null)
        }

        @Test func `does not wait for a table that another session has locked`() throws {
            var limits = MySQLLimits()
            limits.lockSeconds = 1
            limits.attempts = 2
            let live = try LiveCompany(limits: limits)
            let service = try MariaDBSession(LiveCompany.address(live.database))
            try service.execute("LOCK TABLES subs WRITE")
            #expect {
                try live.company.rows(after: nil, limit: 10)
            } throws: { ($0 as? StoreError)?.exitStatus == .busy }
            try service.execute("UNLOCK TABLES")
            #expect(try live.company.rows(after: nil, limit: 10).rows.count == 10)
        }

        @Test func `continues over a new session after the server ended the old one`() throws {
            let live = try LiveCompany()
            #expect(try live.company.rows(after: nil, limit: 1).rows.count == 1)
            try live.killSessions()
            #expect(try live.company.rows(after: nil, limit: 1).rows.count == 1)
        }

        @Test func `ends where no server answers`() throws {
            let company = MySQLCompany(
                try .libmariadb(MySQLAddress(url: "mysql://u@%2Fnowhere/x")),
                mapping: LiveCompany.mapping)
            #expect {
                try company.rows(after: nil, limit: 1)
            } throws: { ($0 as? StoreError)?.exitStatus == .unavailable }
        }
    }

    extension LiveCompany {
        /// Ends all sessions with the database but the one that does it.
        func killSessions() throws {
            let numbers = try sql(
                """
                SELECT ID FROM information_schema.PROCESSLIST
                WHERE DB = DATABASE() AND ID <> CONNECTION_ID()
                """
            ).split(separator: "\n")
            try sql(numbers.map { "KILL \($0);" }.joined())
        }
    }

    extension String {
        fileprivate func replacingFirst(_ mark: Character, with text: String) -> String {
            guard let place = firstIndex(of: mark) else { return self }
            return self[..<place] + text + self[index(after: place)...]
        }
    }
#endif
