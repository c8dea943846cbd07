#if MySQL
    import Foundation
    import MySQLDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    /// What triggers, rights, engines and the state of a server do with a change.
    @Suite(.enabled(if: OwnMariaDB.isInstalled, "needs a MariaDB server (apt: mariadb-server)"))
    struct `A company's table that refuses a change in MySQL` {
        /// A trigger that does this with the row of one id.
        private static func trigger(_ body: String, when: String = "BEFORE UPDATE") -> String {
            """
            DELIMITER //
            CREATE TRIGGER ours \(when) ON subs FOR EACH ROW BEGIN
                IF NEW.original_transaction_id = '\(LiveCompany.key(2).originalTransactionID)' THEN
                    \(body)
                END IF;
            END //
            DELIMITER ;

            """
        }

        /// Writes three rows, of which the table refuses the second.
        private func expectRefusal(_ live: LiveCompany, saying text: String) throws {
            try live.company.check(mayWrite: true)
            let rows = try (1...3).map { try #require(try live.company.row(LiveCompany.key($0))) }
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(rows[0])) == .applied(version: 2))
            guard case .refused(let words) = try live.company.write(LiveCompany.expire(rows[1]))
            else {
                Issue.record("not refused")
                return
            }
            #expect(words.contains(text), "\(words)")
            #expect(try live.company.write(LiveCompany.expire(rows[2])) == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            #expect(
                try live.sql(
                    """
                    SELECT GROUP_CONCAT(RIGHT(original_transaction_id, 2) ORDER BY 1) FROM subs
                    WHERE status = 'expired'
                    """) == "01,03")
            #expect(try live.company.row(LiveCompany.key(2)) == rows[1])
        }

        @Test(arguments: [
            ("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no way';", "1644: no way"),
            ("INSERT INTO gone VALUES (1);", "1146"), ("SET NEW.status = 'on hold';", "status"),
            ("SET NEW.status = OLD.status;", "status"),
        ])
        func `is believed only where the row stands as it was written`(
            body: String, reason: String
        ) throws {
            try expectRefusal(try LiveCompany(preparing: Self.trigger(body)), saying: reason)
        }

        @Test func `names a constraint`() throws {
            let live = try LiveCompany(
                preparing: """
                    ALTER TABLE subs ADD CONSTRAINT ours CHECK (status <> 'expired'
                        OR original_transaction_id <> '2000000000000002');
                    """)
            try expectRefusal(live, saying: "ours")
        }

        @Test func `is refused as a whole where its engine has no transactions`() throws {
            let live = try LiveCompany(preparing: "ALTER TABLE subs ENGINE = MyISAM;")
            try live.company.check(mayWrite: false)
            #expect {
                try live.company.check(mayWrite: true)
            } throws: { error in
                (error as? StoreError)?.exitStatus == .config
                    && "\(error)".contains("ALTER TABLE `subs` ENGINE = InnoDB")
            }
            #expect(try live.company.obstacleToLedger()?.contains("MyISAM") == true)
        }

        @Test(arguments: [
            ("ALTER TABLE subs CHANGE product_id product VARCHAR(9) NOT NULL", "product_id"),
            ("ALTER TABLE subs MODIFY big DOUBLE", "big"),
            ("ALTER TABLE subs MODIFY expires_at DATETIME(3)", "expires_at"),
            ("ALTER TABLE subs MODIFY status INT", "status"),
            ("ALTER TABLE subs MODIFY renews BIT(1)", "renews"),
            ("ALTER TABLE subs MODIFY user_id CHAR(36)", "user_id"),
            ("ALTER TABLE subs RENAME TO others", "subs"),
        ])
        func `names the column that is not as it is mapped`(change: String, name: String) throws {
            let live = try LiveCompany()
            if change.contains("INT") || change.contains("BIT") || change.contains("CHAR(36)") {
                try live.sql("DELETE FROM subs")
            }
            if name == "product_id" { try live.sql("UPDATE subs SET product_id = 'p'") }
            try live.sql(change)
            #expect {
                try live.company.check(mayWrite: false)
            } throws: { error in
                (error as? StoreError)?.exitStatus == .config && "\(error)".contains(name)
            }
        }

        @Test func `is not written where a column is generated`() throws {
            let live = try LiveCompany(
                preparing:
                    "ALTER TABLE subs DROP product_id, ADD product_id VARCHAR(9) AS ('p') STORED;")
            try live.company.check(mayWrite: false)
            #expect {
                try live.company.check(mayWrite: true)
            } throws: { "\($0)".contains("generated") }
        }

        @Test func `names the right that is missing`() throws {
            let live = try LiveCompany(preparing: "CREATE VIEW v AS SELECT * FROM subs;")
            let user = "u_\(live.database)"
            let mapped = "product_id, expires_at, ends_at, status, renews, big, lock_version"
            try live.sql(
                """
                CREATE USER \(user)@localhost; GRANT SELECT ON subs TO \(user)@localhost;
                """)
            var mapping = live.mapping
            mapping.inserts = nil
            func company() throws -> MySQLCompany {
                MySQLCompany(
                    try .libmariadb(LiveCompany.address(live.database, user: user)),
                    mapping: mapping, books: LiveCompany.books)
            }
            try company().check(mayWrite: false)
            #expect {
                try company().check(mayWrite: true)
            } throws: { "\($0)".contains("GRANT UPDATE (`") }
            try live.sql("GRANT UPDATE (\(mapped)) ON subs TO \(user)@localhost")
            #expect(try company().obstacleToLedger()?.contains("trueup_corrections") == true)
            #expect {
                try company().check(mayWrite: true)
            } throws: { ($0 as? StoreError)?.exitStatus == .config }
            try live.sql(
                """
                GRANT CREATE, SELECT, INSERT ON \(live.database).trueup_corrections TO \(user)@localhost
                """)
            let others = ["books", "leases", "calls", "refusals", "runs"].map { "trueup_\($0)" }
            for table in others {
                #expect(try company().obstacleToLedger()?.contains(table) == true)
                try live.sql(
                    """
                    GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON \(live.database).\(table)
                    TO \(user)@localhost
                    """)
            }
            #expect(try company().obstacleToLedger() == nil)
            let last = try company()
            try last.check(mayWrite: true)
            let row = try #require(try last.row(LiveCompany.key(1)))
            try last.begin()
            #expect(try last.write(LiveCompany.expire(row)) == .applied(version: 2))
            try last.append(LiveCompany.entry(1))
            #expect(try last.commit() == .committed)
            #expect(try last.obstacleToLedger() == nil)
            // Of a table that is there, too.
            try live.sql("REVOKE UPDATE ON \(live.database).trueup_leases FROM \(user)@localhost")
            #expect(try company().obstacleToLedger()?.contains("trueup_leases") == true)
            // Withdrawn during the run; the rights of a session are looked at for each statement.
            let next = try #require(try last.row(LiveCompany.key(2)))
            try last.begin()
            try live.sql("REVOKE UPDATE (\(mapped)) ON subs FROM \(user)@localhost")
            #expect {
                try last.write(LiveCompany.expire(next))
            } throws: { error in
                (error as? StoreError)?.exitStatus == .config && "\(error)".contains("withdrawn")
            }
            #expect(try live.company.row(LiveCompany.key(2)) == next)
        }

        @Test func `keeps the latest row where Apple's transaction would not be it`() throws {
            var mapping = TableMapping(
                table: CompanyTableName(name: "purchases"),
                columns: [
                    .originalTransactionID: .column("original_id", .integer),
                    .bundleID: .constant("com.example.app"),
                    .environment: .constant("Production"),
                    .latestTransactionID: .column("transaction_id", .integer),
                    .expiresDate: .column("expires_at", .timestamp(LocalClock(minutesEast: 0))),
                    .status: .column("status", .integer),
                ])
            mapping.latestBy = "expires_at"
            mapping.inserts = [:]
            let live = try LiveCompany(
                preparing: """
                    CREATE TABLE purchases (id INT AUTO_INCREMENT PRIMARY KEY, original_id BIGINT NOT NULL,
                        transaction_id BIGINT NOT NULL UNIQUE, expires_at DATETIME, status INT,
                        KEY (original_id));
                    INSERT INTO purchases (original_id, transaction_id, expires_at, status) VALUES
                        (1, 11, '2026-01-01', 1), (1, 12, '2026-02-01', 1), (2, 21, '2026-02-01', 1);
                    """, mapping: mapping)
            try live.company.check(mayWrite: true)
            let rows = try live.company.rows(after: nil, limit: 1)
            #expect(rows.rows.map(\.values[.latestTransactionID]) == [.text("12")])
            #expect(rows.next != nil)
            let row = try #require(rows.rows.first)
            func write(_ transaction: String, _ end: String) throws -> CompanyWriteFate {
                try live.company.write(
                    CompanyChange(
                        action: .update, key: row.key, before: row.values,
                        after: [
                            .latestTransactionID: .text(transaction),
                            .expiresDate: .time(try #require(Timestamp(rfc3339: end))),
                        ]))
            }
            try live.company.begin()
            for (transaction, end) in [
                ("13", "2026-01-15T00:00:00Z"), ("11", "2026-03-01T00:00:00Z"),
            ] {
                let fate = try write(transaction, end)
                guard case .refused = fate else {
                    Issue.record("\(fate)")
                    return
                }
            }
            #expect(try write("13", "2026-03-01T00:00:00Z") == .applied(version: nil))
            let next = try #require(try live.company.row(row.key))
            #expect(
                try live.company.write(LiveCompany.expire(next)) == .applied(version: nil))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            #expect(
                try live.sql(
                    "SELECT GROUP_CONCAT(transaction_id, ' ', status ORDER BY 1) FROM purchases")
                    == "11 1,12 1,13 2,21 1")
        }
    }

    /// A server of its own, because its state is that of all its databases.
    @Suite(.enabled(if: OwnMariaDB.isInstalled, "needs a MariaDB server (apt: mariadb-server)"))
    struct `A server of MySQL that may not be written` {
        private func company(_ server: OwnMariaDB) throws -> MySQLCompany {
            MySQLCompany(
                try .libmariadb(MySQLAddress(url: server.url())), mapping: LiveCompany.mapping,
                books: LiveCompany.books)
        }

        @Test func `is refused with the statement that helps`() throws {
            let server = try OwnMariaDB()
            defer { server.stop() }
            try server.sql(LiveCompany.table)
            let writing = try company(server)
            try writing.check(mayWrite: true)
            try server.sql("SET GLOBAL read_only = 1")
            try company(server).check(mayWrite: false)
            for attempt in [{ try company(server).check(mayWrite: true) }, { try writing.begin() }]
            {
                #expect {
                    try attempt()
                } throws: { error in
                    (error as? StoreError)?.exitStatus == .unavailable
                        && "\(error)".contains("SET GLOBAL read_only = 0")
                }
            }
            #expect(try company(server).obstacleToLedger()?.contains("read_only") == true)
            try server.sql("SET GLOBAL read_only = 0")
            try writing.begin()
            writing.rollBack()
        }

        @Test func `is refused where its log takes no such transactions`() throws {
            let server = try OwnMariaDB(
                options: "--log-bin --binlog-format=STATEMENT --server-id=1")
            defer { server.stop() }
            try server.sql(LiveCompany.table)
            #expect {
                try company(server).check(mayWrite: true)
            } throws: { "\($0)".contains("SET GLOBAL binlog_format = 'ROW'") }
        }

        @Test func `is waited for while it starts again`() throws {
            let server = try OwnMariaDB()
            defer { server.stop() }
            try server.sql(LiveCompany.table)
            let company = try company(server)
            try company.check(mayWrite: true)
            let row = try #require(try company.row(LiveCompany.key(1)))
            try company.begin()
            #expect(try company.write(LiveCompany.expire(row)) == .applied(version: 2))
            try server.stopAtOnce()
            Thread.detachNewThread { try? server.start() }
            try company.append(LiveCompany.entry(1))
            #expect(try company.commit() == .committed)
            #expect(
                try server.sql(
                    "SELECT CONCAT(status, lock_version) FROM subs WHERE lock_version > 1")
                    == "expired2")
        }
    }
#endif
