import ServerConnections
import Subscriptions

/// The version and state of a server, as far as they decide whether a run can work there.
struct ServerFacts: Hashable, Sendable {
    let version: String
    let isMariaDB: Bool
    let isReadOnly: Bool
    let isReplica: Bool
    /// Whether the server's log of changes takes none of a transaction that reads what is committed.
    let logsStatements: Bool
    let defaultMode: String
    let defaultZone: String

    init(_ session: any MySQLSession) throws(MySQLFailure) {
        let row =
            try session.run(
                """
                SELECT VERSION(), CAST(@@global.read_only AS CHAR),
                    CAST(@@global.log_bin AS CHAR), CAST(@@session.binlog_format AS CHAR),
                    CAST(@@global.sql_mode AS CHAR), CAST(@@global.time_zone AS CHAR)
                """, []
            ).rows.first ?? []
        guard row.count == 6, let version = row[0] else {
            throw MySQLFailure(.other, words: "no answer about the server's version")
        }
        self.version = version
        isMariaDB = version.contains("MariaDB")
        isReadOnly = Self.isOn(row[1])
        logsStatements = Self.isOn(row[2]) && row[3] == "STATEMENT"
        defaultMode = row[4] ?? ""
        defaultZone = row[5] ?? ""
        isReplica = try Self.isReplica(session)
    }

    private static func isOn(_ text: String?) -> Bool { text == "1" || text == "ON" }

    /// Whether it follows another server, as far as the user may see that.
    private static func isReplica(_ session: any MySQLSession) throws(MySQLFailure) -> Bool {
        let query =
            session.isMariaDB
            ? """
            SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
            WHERE VARIABLE_NAME = 'SLAVE_RUNNING'
            """
            : """
            SELECT IF(count(*) > 0, 'ON', 'OFF')
            FROM performance_schema.replication_connection_status WHERE SERVICE_STATE = 'ON'
            """
        do throws(MySQLFailure) {
            return isOn(try session.run(query, []).first)
        } catch {
            guard [.forbidden, .schema].contains(error.meaning) else { throw error }
            return false
        }
    }

    /// Returns why a run cannot work with this version; `nil` where it can.
    var obstacleToReading: String? {
        let numbers = version.split(separator: "-").flatMap { $0.split(separator: ".") }
            .prefix(2).compactMap { Int($0) }
        guard numbers.count == 2 else { return nil }
        let least = isMariaDB ? [10, 4] : [8, 0]
        guard numbers.lexicographicallyPrecedes(least) else { return nil }
        return
            "the server's version is \(version), and trueup needs \(isMariaDB ? "MariaDB 10.4" : "MySQL 8.0") "
            + "or later: upgrade it"
    }

    /// Returns why no correction can be written there, and what to do; `nil` where it can.
    var obstacleToWriting: String? {
        if isReplica {
            return "it is a replica, and what is written there would be lost or end the "
                + "replication: point store.url at the primary"
        }
        if isReadOnly {
            return "it may only be read (read_only): point store.url at the primary, or run SET "
                + "GLOBAL read_only = 0 there"
        }
        return nil
    }

    var obstacleOfLog: String? {
        guard logsStatements else { return nil }
        return
            "its binary log takes statements only, and refuses transactions that read what others "
            + "have committed: run SET GLOBAL binlog_format = 'ROW', and set it in the server's "
            + "configuration"
    }

    /// One line for `doctor`.
    var line: String {
        "\(isMariaDB ? "MariaDB" : "MySQL") \(version.split(separator: "-").first ?? ""); trueup's "
            + "sessions have time_zone +00:00 (the server's is \(defaultZone)) and a strict sql_mode "
            + "(the server's is \(defaultMode.isEmpty ? "empty" : defaultMode))"
    }
}
