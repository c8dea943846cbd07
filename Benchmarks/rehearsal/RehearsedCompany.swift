import Foundation
import GRDB
import Subscriptions
import TestSupport

/// A company beside `trueup`: its folder, its table, and its services, which write into it.
struct RehearsedCompany {
    let folder: TemporaryFolder
    private let trueup: BuiltExecutable

    init(store: RunningSimulator, job: String, trueup: BuiltExecutable) throws {
        folder = try TemporaryFolder()
        self.trueup = trueup
        try folder.write("apps:\n" + store.appYAML(), to: "trueup.yaml")
        try folder.write(job, to: "jobs/night.yaml")
        try must(trueup.run(["init", "--quiet"], in: folder.url))
        guard let table = store.ready.tableFile else { throw CommandFailed(text: "no table") }
        try must(trueup.run(["import", table], in: folder.url))
    }

    private func must(_ result: BuiltExecutable.Result) throws {
        guard result.status == 0 else { throw CommandFailed(text: result.output + result.errors) }
    }

    struct CommandFailed: Error {
        let text: String
    }

    /// Runs the job as of a moment.
    func run(at now: Timestamp) throws -> BuiltExecutable.Result {
        try trueup.run(["run", "night", "--now", now.rfc3339], in: folder.url)
    }

    /// `summary.json` of the newest report.
    func summary() throws -> DaySummary {
        try JSONDecoder().decode(
            DaySummary.self, from: Data(try folder.text("reports/latest/summary.json").utf8))
    }

    private func database() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(30)
        return try DatabaseQueue(
            path: folder.url.appendingPathComponent("trueup.sqlite").path,
            configuration: configuration)
    }

    /// The table as it stands.
    func table() throws -> TableRows {
        let columns = TableRows.columns.map { "COALESCE(CAST(\($0) AS TEXT), '')" }
        return try database().read { db in
            var rows: [String: [String]] = [:]
            let cursor = try Row.fetchCursor(
                db, sql: "SELECT \(columns.joined(separator: ", ")) FROM subscriptions")
            while let row = try cursor.next() {
                let values = TableRows.columns.indices.map { row[$0] as String }
                rows[values[0]] = values
            }
            return TableRows(rows: rows)
        }
    }

    /// Writes whole rows, as the company's receiver of notifications does.
    func write(_ rows: [[String]]) throws {
        let names = TableRows.columns
        let changes = names.map { "\($0) = NULLIF(?, '')" }.joined(separator: ", ")
        let marks = names.map { _ in "NULLIF(?, '')" }.joined(separator: ", ")
        try database().write { db in
            let update = try db.makeStatement(
                sql: "UPDATE subscriptions SET \(changes) WHERE original_transaction_id = ?")
            let insert = try db.makeStatement(
                sql: """
                    INSERT INTO subscriptions (\(names.joined(separator: ", ")))
                    VALUES (\(marks))
                    """)
            for row in rows {
                try update.execute(arguments: StatementArguments(row + row.prefix(1)))
                if db.changesCount == 0 {
                    try insert.execute(arguments: StatementArguments(row))
                }
            }
        }
    }

    /// Changes one column of one row, as a mistake in a service of the company does.
    func write(_ value: String, to column: String, of id: String) throws {
        try database().write { db in
            try db.execute(
                sql: """
                    UPDATE subscriptions SET \(column) = NULLIF(?, '')
                    WHERE original_transaction_id = ?
                    """, arguments: [value, id])
        }
    }
}

/// What is read of `summary.json`; whatever an older version lacks is absent.
struct DaySummary: Decodable {
    var coverage: Coverage?

    struct Coverage: Codable {
        var kind: String?
        var rows: Int?
        var asked: Int?
        var quiet: Int?
        var settledByNotification: Int?
        var askedByReason: [String: Int]?
        var left: [String: Int]?
        var sample: Sample?

        enum CodingKeys: String, CodingKey {
            case kind, rows, asked, quiet, left, sample
            case settledByNotification = "settled_by_notification"
            case askedByReason = "asked_by_reason"
        }
    }

    struct Sample: Codable {
        var drawn: Int?
        var differ: Int?
        var bound: Int?
    }
}
