#if MySQL
    import MySQLDatabase
    import ServerConnections
    import Subscriptions
    import Synchronization
    import TestSupport

    /// A database with a table of its own on the test server, and our adapter over it.
    struct LiveCompany {
        /// One server for all tests of this process; its guard ends it.
        static let server = Result { try OwnMariaDB() }
        private static let databases = Atomic<Int>(0)

        let database: String
        let company: MySQLCompany
        let mapping: TableMapping

        static let table = """
            CREATE TABLE subs (
                user_id BINARY(16) NOT NULL,
                original_transaction_id VARCHAR(64) NOT NULL PRIMARY KEY,
                product_id VARCHAR(100) NOT NULL,
                expires_at TIMESTAMP(3) NULL,
                ends_at DATETIME NULL,
                status ENUM('active', 'expired', 'on hold') NOT NULL,
                renews TINYINT(1),
                big BIGINT UNSIGNED,
                payload JSON,
                lock_version INT NOT NULL DEFAULT 1,
                note VARCHAR(20) NOT NULL DEFAULT 'theirs',
                changed_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP
            ) DEFAULT CHARACTER SET utf8mb4;
            INSERT INTO subs (user_id, original_transaction_id, product_id, expires_at, ends_at, status,
                renews, big, payload)
            SELECT UNHEX('00112233445566778899AABBCCDDEEFF'), 2000000000000000 + seq, 'com.example.pro',
                '2026-11-20 03:17:04.125', '2026-11-20 03:17:04', 'active', 1, 18446744073709551615,
                '{"a": {"p": "x", "n": null, "t": true}}'
            FROM seq_1_to_25;
            """

        static var mapping: TableMapping {
            var mapping = TableMapping(
                table: CompanyTableName(name: "subs"),
                columns: [
                    .originalTransactionID: .column("original_transaction_id", .text),
                    .bundleID: .constant("com.example.app"),
                    .environment: .constant("Production"),
                    .customerID: .column("user_id", .uuidBinary),
                    .productID: .column("product_id", .text),
                    .expiresDate: .column("expires_at", .timestamptz),
                    .revocationDate: .column(
                        "ends_at", .timestamp(LocalClock(minutesEast: 0))),
                    .status: .column("status", .text),
                    .autoRenewStatus: .column("renews", .boolean),
                    .webOrderLineItemID: .column("big", .integer),
                    .autoRenewProductID: .member(of: "payload", path: ["a", "p"], .text),
                    .gracePeriodExpiresDate: .member(
                        of: "payload", path: ["a", "n"], .milliseconds),
                ],
                statusWords: StatusWords(
                    numbers: ["active": 1, "expired": 2], written: [1: "active", 2: "expired"]),
                versionColumn: "lock_version")
            mapping.inserts = ["user_id": .text("0123456789abcdef")]
            return mapping
        }

        init(
            preparing preparation: String = "", mapping: TableMapping = Self.mapping,
            user: String = "trueup", limits: MySQLLimits = MySQLLimits()
        ) throws {
            let server = try Self.server.get()
            database = "test\(Self.databases.add(1, ordering: .relaxed).newValue)"
            try server.sql("CREATE DATABASE \(database) CHARACTER SET utf8mb4", in: "mysql")
            try server.sql(
                "SET time_zone = '+00:00';" + Self.table + "\n" + preparation, in: database)
            self.mapping = mapping
            company = MySQLCompany(
                try .libmariadb(Self.address(database, user: user), limits: limits),
                mapping: mapping, books: Self.books, limits: limits)
        }

        static let books = "these books"

        static func address(_ database: String, user: String = "trueup") throws -> MySQLAddress {
            try MySQLAddress(url: server.get().url(database: database, user: user))
        }

        /// The same table, over sessions that a test may break.
        func company(over sessions: BreakableMySQLSessions) throws -> MySQLCompany {
            MySQLCompany(
                sessions.connector(to: try Self.address(database)), mapping: mapping,
                books: Self.books)
        }

        static func key(_ number: Int) -> SubscriptionKey {
            SubscriptionKey(
                bundleID: "com.example.app", environment: "Production",
                originalTransactionID: String(2_000_000_000_000_000 + number))
        }

        /// From active to expired, as the row was read.
        static func expire(_ row: CompanyRow, to status: Int64 = 2) -> CompanyChange {
            CompanyChange(
                action: .update, key: row.key, before: [.status: row.values[.status] ?? .null],
                after: [.status: .integer(status)], version: row.version)
        }

        static func entry(_ number: Int64) -> CompanyLedgerEntry {
            CompanyLedgerEntry(
                number: number, digest: "digest \(number)", run: "run", content: #"{"n": "é 🦆"}"#,
                writtenAt: Timestamp(unixMilliseconds: 1_796_000_000_000))
        }

        /// What the company's own service reads or does.
        @discardableResult
        func sql(_ text: String) throws -> String {
            try Self.server.get().sql("SET time_zone = '+00:00';" + text, in: database)
        }

        /// Everything of the rows that no mapping names.
        func unmapped() throws -> String {
            try sql("SELECT MD5(GROUP_CONCAT(HEX(user_id), note, big ORDER BY 1)) FROM subs")
        }
    }
#endif
