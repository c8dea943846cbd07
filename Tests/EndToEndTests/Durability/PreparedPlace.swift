import Foundation
import GRDB
import TestSupport
import Testing

/// A workplace that stands ready for a command, to be copied for each disturbance of it.
struct PreparedPlace {
    let folder: URL

    /// A copy that nobody else works in; the caller removes it.
    func copy() throws -> PreparedPlace {
        let copy = FileManager.default.temporaryDirectory
            .appendingPathComponent("trueup-step-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: folder, to: copy)
        return PreparedPlace(folder: copy)
    }

    func remove() {
        try? FileManager.default.removeItem(at: folder)
    }

    func run(_ arguments: [String]) throws -> BuiltExecutable.Result {
        try BuiltExecutable("trueup").run(arguments, in: folder)
    }

    /// What must be the same however often the command was disturbed: rows, ledger, inbox and what
    /// the reports show of corrections; times of signing and writing, versions and run ids aside.
    func state() throws -> State {
        let database = try DatabaseQueue(
            path: folder.appendingPathComponent("trueup.sqlite").path)
        defer { try? database.close() }
        return try database.read { db in
            State(
                rows: try Self.texts(
                    db, "SELECT \(Self.rowColumns) FROM subscriptions ORDER BY 1, 2, 3"),
                periods: try Self.texts(
                    db,
                    """
                    SELECT transaction_id, original_transaction_id, product_id, expires_date
                    FROM transactions ORDER BY 1
                    """),
                ledger: try Self.texts(
                    db,
                    """
                    SELECT target_table, original_transaction_id, ifnull(transaction_id, ''), kinds
                    FROM trueup_ledger ORDER BY 1, 2, 3, 4
                    """),
                ledgerNumbers: try Int.fetchAll(
                    db, sql: "SELECT entry FROM trueup_ledger ORDER BY 1"),
                inbox: try Self.texts(
                    db,
                    """
                    SELECT notification_uuid, ifnull(verdict, ''), recovered_at IS NOT NULL
                    FROM trueup_notifications ORDER BY 1
                    """),
                reported: try reportedLines(
                    of: "corrections.jsonl",
                    ["ledger_entry", "table", "original_transaction_id", "kinds"]
                ) { _ in true },
                mended: try Set(
                    reportedLines(of: "discrepancies.jsonl", ["finding_id", "kind"]) {
                        $0["state"] as? String == "corrected"
                    }
                ).sorted())
        }
    }

    /// Whether the entitlements of all customers were filled in once.
    func entitlementsAreFilled() throws -> Bool {
        let database = try DatabaseQueue(
            path: folder.appendingPathComponent("trueup.sqlite").path)
        defer { try? database.close() }
        return try database.read { db in
            try String.fetchOne(db, sql: "SELECT catalogue FROM trueup_entitlement_catalogue")
                .map { $0 != "being filled in" } ?? false
        }
    }

    /// Where the entitlements are not what the rows say.
    func entitlementProblems() throws -> [String] {
        try EntitlementOracle.problems(
            inDatabaseAt: folder.appendingPathComponent("trueup.sqlite").path)
    }

    struct State: Equatable {
        var rows: [String]
        var periods: [String]
        var ledger: [String]
        var ledgerNumbers: [Int]
        var inbox: [String]
        /// Every line of corrections.jsonl of every report, by entry number and row.
        var reported: [String]
        /// The findings that some report calls corrected.
        var mended: [String]

        /// What is here and not there, and the other way round, list by list.
        func differences(from other: State) -> [String] {
            let lists: [(String, [String], [String])] = [
                ("rows", rows, other.rows), ("periods", periods, other.periods),
                ("ledger", ledger, other.ledger), ("inbox", inbox, other.inbox),
                ("numbers", ledgerNumbers.map(String.init), other.ledgerNumbers.map(String.init)),
                ("reported", reported, other.reported), ("mended", mended, other.mended),
            ]
            return lists.flatMap { name, mine, theirs in
                mine.difference(from: theirs).map { change in
                    switch change {
                    case .insert(_, let element, _): "\(name): too many: \(element)"
                    case .remove(_, let element, _): "\(name): missing: \(element)"
                    }
                }
            }
        }
    }

    /// All but `signed_date` and the version, which differ from one answer to the next.
    private static let rowColumns = """
        bundle_id, environment, original_transaction_id, customer_id, app_account_token,
        product_id, status,
        expires_date, grace_period_expires_date, auto_renew_status, auto_renew_product_id,
        revocation_date, in_app_ownership_type, latest_transaction_id, web_order_line_item_id
        """

    private static func texts(_ db: Database, _ sql: String) throws -> [String] {
        try Row.fetchAll(db, sql: sql).map { row in
            row.databaseValues.map(\.description).joined(separator: "|")
        }
    }

    /// Some members of each line that counts in a file of every report.
    private func reportedLines(
        of name: String, _ members: [String], where counts: ([String: Any]) -> Bool
    ) throws -> [String] {
        let reports = folder.appendingPathComponent("reports")
        guard let days = try? FileManager.default.contentsOfDirectory(atPath: reports.path) else {
            return []
        }
        var lines: [String] = []
        for day in days where day.first?.isNumber == true {
            let runs = reports.appendingPathComponent(day)
            for run in try FileManager.default.contentsOfDirectory(atPath: runs.path)
            where !run.hasSuffix(".partial") {
                let file = runs.appendingPathComponent(run + "/\(name)")
                for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                    let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                    let entry = try #require(object as? [String: Any])
                    guard counts(entry) else { continue }
                    lines.append(
                        members.map { "\(entry[$0] ?? "")" }.joined(separator: "|"))
                }
            }
        }
        return lines.sorted()
    }
}
