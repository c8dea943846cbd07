#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    /// Tables as companies keep them, with their mappings.
    struct SeedTable: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let sql: String
        var mapping: TableMapping
        /// What the row with id 2000000000000001 says to us.
        let first: [MappedField: FieldValue]

        static let all = [plain, perTransaction, payload, numbers, statusText]

        private static let key: [MappedField: MappedColumn] = [
            .bundleID: .constant("com.example.app"), .environment: .constant("Production"),
        ]

        private static let words = StatusWords(
            numbers: ["active": 1, "trialing": 1, "expired": 2, "past_due": 3, "refunded": 5],
            written: [1: "active", 2: "expired", 3: "past_due", 5: "refunded"])

        private static func time(_ text: String) -> FieldValue {
            .time(Timestamp(rfc3339: text) ?? Timestamp(unixMilliseconds: 0))
        }

        /// One row for each subscription, with words for the status and a version.
        static let plain = SeedTable(
            testDescription: "user_id, status text, expires_at timestamptz",
            sql: """
                CREATE TABLE subs (user_id uuid NOT NULL, original_transaction_id text PRIMARY KEY,
                    product_id text, expires_at timestamptz, status text NOT NULL
                        CHECK (status <> 'refunded' OR product_id IS NOT NULL),
                    note jsonb DEFAULT '{"a": 1}', lock_version int NOT NULL DEFAULT 1);
                INSERT INTO subs SELECT gen_random_uuid(), (2000000000000000 + n)::text,
                    'com.example.pro', '2026-12-01T10:00:00.123+02'::timestamptz
                        + n * interval '1 hour', 'trialing'
                FROM generate_series(1, 25) AS n
                """,
            mapping: TableMapping(
                table: CompanyTableName(name: "subs"),
                columns: key.merging([
                    .originalTransactionID: .column("original_transaction_id", .text),
                    .customerID: .column("user_id", .uuid),
                    .productID: .column("product_id", .text),
                    .expiresDate: .column("expires_at", .timestamptz),
                    .status: .column("status", .text),
                ]) { own, _ in own },
                statusWords: words, versionColumn: "lock_version"),
            first: [.status: .integer(1), .expiresDate: time("2026-12-01T09:00:00.123Z")])

        /// One row for each transaction; the latest counts.
        static let perTransaction = SeedTable(
            testDescription: "a row for each transaction",
            sql: """
                CREATE SCHEMA billing;
                CREATE TABLE billing."Purchases" (
                    "transactionId" text PRIMARY KEY, "originalId" text NOT NULL,
                    "expiresAt" timestamp(3), "purchasedAt" timestamp(3) NOT NULL, sku text,
                    state text);
                CREATE INDEX ON billing."Purchases" ("originalId");
                INSERT INTO billing."Purchases"
                SELECT (3000000000000000 + n * 10 + m)::text, (2000000000000000 + n)::text,
                    '2026-10-01T00:00:00.5'::timestamp + m * interval '30 days',
                    '2026-09-01'::timestamp + m * interval '30 days', 'pro', 'active'
                FROM generate_series(1, 25) AS n, generate_series(0, 2) AS m
                """,
            mapping: TableMapping(
                table: CompanyTableName(schema: "billing", name: "Purchases"),
                columns: key.merging([
                    .originalTransactionID: .column("originalId", .text),
                    .latestTransactionID: .column("transactionId", .text),
                    .expiresDate: .column("expiresAt", .timestamp(LocalClock(minutesEast: 120))),
                    .productID: .column("sku", .text), .status: .column("state", .text),
                ]) { own, _ in own },
                statusWords: words, latestBy: "purchasedAt"),
            first: [
                .status: .integer(1), .expiresDate: time("2026-11-29T22:00:00.500Z"),
                .latestTransactionID: .text("3000000000000012"),
            ])

        /// Apple's last payload as JSON.
        static let payload = SeedTable(
            testDescription: "a JSONB column of Apple's last payload",
            sql: """
                CREATE TABLE subs (id bigserial PRIMARY KEY, otid text UNIQUE NOT NULL,
                    is_active boolean, expires_ms bigint, last_payload jsonb);
                INSERT INTO subs (otid, is_active, expires_ms, last_payload)
                SELECT (2000000000000000 + n)::text, true, 1796119200123 + n,
                    jsonb_build_object('productId', 'com.example.pro',
                        'renewal', jsonb_build_object('autoRenewStatus', 1))
                FROM generate_series(1, 25) AS n
                """,
            mapping: TableMapping(
                table: CompanyTableName(name: "subs"),
                columns: key.merging([
                    .originalTransactionID: .column("otid", .text),
                    .expiresDate: .column("expires_ms", .milliseconds),
                    .productID: .member(of: "last_payload", path: ["productId"], .text),
                    .autoRenewStatus: .member(
                        of: "last_payload", path: ["renewal", "autoRenewStatus"], .integer),
                ]) { own, _ in own }),
            first: [
                .productID: .text("com.example.pro"), .autoRenewStatus: .integer(1),
                .expiresDate: .time(Timestamp(unixMilliseconds: 1_796_119_200_124)),
            ])

        /// Ids as numbers, apps in a column, seconds.
        static let numbers = SeedTable(
            testDescription: "ids as bigint",
            sql: """
                CREATE TABLE subs (app text NOT NULL, otid bigint NOT NULL, status smallint,
                    expires bigint, renews boolean, PRIMARY KEY (app, otid));
                INSERT INTO subs SELECT 'com.example.app', 2000000000000000 + n, 1,
                    1796119200 + n, true
                FROM generate_series(1, 25) AS n
                """,
            mapping: TableMapping(
                table: CompanyTableName(name: "subs"),
                columns: [
                    .bundleID: .column("app", .text), .environment: .constant("Production"),
                    .originalTransactionID: .column("otid", .integer),
                    .status: .column("status", .integer),
                    .expiresDate: .column("expires", .seconds),
                    .autoRenewStatus: .column("renews", .boolean),
                ]),
            first: [
                .status: .integer(1), .autoRenewStatus: .integer(1),
                .expiresDate: .time(Timestamp(unixMilliseconds: 1_796_119_201_000)),
            ])

        /// As docs/mappings/status-text.yaml has it.
        static let statusText = SeedTable(
            testDescription: "docs/mappings/status-text.yaml",
            sql: """
                CREATE TABLE subscriptions (user_id integer NOT NULL,
                    original_transaction_id text PRIMARY KEY, product_id text NOT NULL,
                    expires_at timestamptz, status text NOT NULL);
                INSERT INTO subscriptions SELECT n, (2000000000000000 + n)::text, 'pro',
                    '2026-12-01T10:00:00Z', 'trialing'
                FROM generate_series(1, 25) AS n
                """,
            mapping: TableMapping(
                table: CompanyTableName(name: "subscriptions"),
                columns: key.merging([
                    .originalTransactionID: .column("original_transaction_id", .text),
                    .customerID: .column("user_id", .integer),
                    .productID: .column("product_id", .text),
                    .expiresDate: .column("expires_at", .timestamptz),
                    .status: .column("status", .text),
                ]) { own, _ in own },
                statusWords: words),
            first: [.status: .integer(1), .customerID: .text("1")])
    }
#endif
