import Foundation
import TestSupport

/// A database server of its own, with the company's table of a night.
protocol NightServer {
    static var dialect: MappingExample.Dialect { get }

    /// The folder that is deleted with it, in which the server may write.
    var folder: String { get }
    /// The socket that it listens on.
    var socket: String { get }
    var url: String { get }

    /// - Parameter port: Of a proxy on this machine.
    /// - Returns: The URL that leads through it.
    func url(through port: Int) -> String

    /// Starts it, also after `stopAtOnce`.
    func start() throws
    /// Ends it in the midst of whatever it is doing.
    func stopAtOnce() throws
    func stop()

    /// Runs statements in the company's database, as a service of the company's.
    @discardableResult func sql(_ text: String) throws -> String

    /// Puts the company's database back to its beginning.
    func reset(to seed: String) throws

    /// Lets each change of a row take so many seconds, and where it can be done each commit.
    func slow(by seconds: String) throws

    /// Writes the file with the first row of a unit or at its commit: what the program writes next
    /// comes after the commit.
    func flagUnits(in file: String) throws

    /// Waits until the sessions of a killed program have ended, with what they were doing.
    func waitForEndOfSessions() throws

    /// Waits until a session of the program sleeps in a trigger.
    ///
    /// - Returns: The number that the server gives it.
    func sessionAsleep() throws -> Int32

    /// The rows of a query in the company's database, divided as `psql -At` divides them.
    func lines(_ query: String) throws -> [String]

    /// Number and digest of each entry of the ledger beside the rows.
    func ledger() throws -> [String]

    /// The entries as they are written there.
    func contents() throws -> [String]

    /// Keeps in the table `history` what each change of a row found: `writer`, which is `trueup` or
    /// another one, `otid`, `product` and `apple_status`, in the order of `number`.
    func keepHistory() throws
}

#if MySQL
    extension OwnMariaDB: NightServer {
        static var dialect: MappingExample.Dialect { .mysql }

        var socket: String { folder + "/socket" }
        var url: String { url() }

        func url(through port: Int) -> String { "mysql://trueup@127.0.0.1:\(port)/shop?tls=off" }

        @discardableResult func sql(_ text: String) throws -> String {
            try sql("SET @writer = 'service';\n" + text, in: "shop")
        }

        func start() throws { try start(options: "") }

        func reset(to seed: String) throws {
            try sql(
                "DROP DATABASE shop; CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop;\n" + seed
            )
        }

        /// A trigger cannot slow a commit here.
        func slow(by seconds: String) throws {
            for event in ["UPDATE", "INSERT"] {
                try sql(
                    """
                    CREATE TRIGGER slow_\(event) BEFORE \(event) ON apple_subscriptions FOR EACH ROW
                        SET @slow = SLEEP(\(seconds))
                    """)
            }
        }

        func flagUnits(in file: String) throws {
            try sql(
                """
                DELIMITER //
                CREATE TRIGGER flagged AFTER UPDATE ON apple_subscriptions FOR EACH ROW
                    IF @flagged IS NULL THEN
                        SET @flagged = 1;
                        SELECT 1 INTO OUTFILE '\(file)';
                    END IF //
                """)
        }

        func waitForEndOfSessions() throws {
            for _ in 0..<400 {
                guard try sessions("DB = 'shop' AND ID <> CONNECTION_ID()") != "" else { return }
                usleep(50_000)
            }
            throw Impatience(words: "a session did not end")
        }

        func sessionAsleep() throws -> Int32 {
            for _ in 0..<400 {
                if let number = Int32(try sessions("STATE = 'User sleep' LIMIT 1")) {
                    return number
                }
                usleep(50_000)
            }
            throw Impatience(words: "no session of the program slept")
        }

        private struct Impatience: Error {
            let words: String
        }

        private func sessions(_ condition: String) throws -> String {
            try sql("SELECT ID FROM information_schema.PROCESSLIST WHERE \(condition)")
        }

        func lines(_ query: String) throws -> [String] {
            try sql(query.replacing("AS TEXT", with: "AS CHAR")).split(separator: "\n").map {
                line in
                line.split(separator: "\t", omittingEmptySubsequences: false)
                    .map { $0 == "NULL" ? "" : String($0) }.joined(separator: "|")
            }
        }

        func ledger() throws -> [String] { try corrections("entry, digest") }

        func contents() throws -> [String] { try corrections("content") }

        private func corrections(_ columns: String) throws -> [String] {
            guard try sql("SHOW TABLES LIKE 'trueup_corrections'") != "" else { return [] }
            return try lines("SELECT \(columns) FROM trueup_corrections ORDER BY entry")
        }

        func keepHistory() throws {
            try sql(
                """
                CREATE TABLE history (number BIGINT AUTO_INCREMENT PRIMARY KEY, writer VARCHAR(20),
                    otid BIGINT, product VARCHAR(255), apple_status INT);
                CREATE TRIGGER kept AFTER UPDATE ON apple_subscriptions FOR EACH ROW
                    INSERT INTO history (writer, otid, product, apple_status)
                    VALUES (IFNULL(@writer, 'trueup'), OLD.otid, OLD.product, OLD.apple_status)
                """)
        }
    }
#endif

#if PostgreSQL
    extension OwnServer: NightServer {
        static var dialect: MappingExample.Dialect { .postgresql }

        var socket: String { folder + "/.s.PGSQL.5432" }

        func url(through port: Int) -> String {
            "postgres://trueup@127.0.0.1:\(port)/postgres?sslmode=disable"
        }

        @discardableResult func sql(_ text: String) throws -> String {
            try sql(text, in: "postgres")
        }

        func reset(to seed: String) throws {
            try sql("DROP SCHEMA IF EXISTS trueup CASCADE")
            try sql(
                "DROP TABLE IF EXISTS public.apple_subscriptions, public.rights, public.orders, public.history"
            )
            // Longer than one argument of a process may be.
            let file = folder + "/seed.sql"
            try ("SET search_path TO public;\n" + seed)
                .write(toFile: file, atomically: true, encoding: .utf8)
            try sql("\\i \(file)")
        }

        func slow(by seconds: String) throws {
            try disturb("early", "PERFORM pg_sleep(\(seconds))", at: "BEFORE UPDATE OR INSERT")
            try disturb("late", "PERFORM pg_sleep(\(seconds))", atCommit: true)
        }

        func flagUnits(in file: String) throws {
            try disturb("flagged", "COPY (SELECT 1) TO '\(file)'", atCommit: true)
        }

        private func disturb(
            _ name: String, _ statement: String, at event: String = "AFTER UPDATE OR INSERT",
            atCommit: Bool = false
        ) throws {
            try sql(
                """
                CREATE OR REPLACE FUNCTION public.\(name)() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN \(statement); RETURN NEW; END $$
                """)
            try sql(
                """
                CREATE \(atCommit ? "CONSTRAINT" : "") TRIGGER \(name) \(event)
                ON public.apple_subscriptions \(atCommit ? "DEFERRABLE INITIALLY DEFERRED" : "")
                FOR EACH ROW EXECUTE FUNCTION public.\(name)()
                """)
        }

        func lines(_ query: String) throws -> [String] {
            try sql(query.replacing("FROM ", with: "FROM public.")).split(separator: "\n")
                .map(String.init)
        }

        func ledger() throws -> [String] { try entries("number, digest") }

        func contents() throws -> [String] { try entries("content") }

        private func entries(_ columns: String) throws -> [String] {
            guard try sql("SELECT to_regclass('trueup.ledger') IS NOT NULL") == "t" else {
                return []
            }
            return try sql("SELECT \(columns) FROM trueup.ledger ORDER BY number")
                .split(separator: "\n").map(String.init)
        }

        func keepHistory() throws {
            try sql(
                """
                CREATE TABLE public.history (number BIGSERIAL PRIMARY KEY, writer TEXT, otid BIGINT,
                    product TEXT, apple_status INT)
                """)
            try disturb(
                "kept",
                """
                INSERT INTO public.history (writer, otid, product, apple_status) VALUES
                (current_setting('application_name'), OLD.otid, OLD.product, OLD.apple_status)
                """, at: "AFTER UPDATE")
        }
    }
#endif
