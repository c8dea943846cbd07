import Foundation
import GRDB
import Synchronization
import TestSupport
import Testing

/// A folder with settings, jobs and a database, in which `trueup` is run as a user would.
final class Workplace: Sendable {
    let folder: TemporaryFolder
    /// Kept running for as long as somebody works here.
    let simulator: RunningSimulator
    private let trueup = BuiltExecutable("trueup")
    /// Reports whose totals were added up.
    private let added = Mutex<Set<String>>([])

    init(on simulator: RunningSimulator, extra: [String] = []) throws {
        folder = try TemporaryFolder()
        self.simulator = simulator
        try writeSettings(apps: [simulator.appYAML(extra: extra)])
        try writeJob("nightly")
    }

    /// A copy of what somebody has prepared in another folder.
    init(on simulator: RunningSimulator, copyOf prepared: TemporaryFolder) throws {
        folder = try TemporaryFolder()
        self.simulator = simulator
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: prepared.url.path) {
            try files.copyItem(
                at: prepared.url.appendingPathComponent(name),
                to: folder.url.appendingPathComponent(name))
        }
    }

    func writeSettings(apps: [String]) throws {
        try folder.write(
            "apps:\n" + apps.joined() + """
                store:
                  url: sqlite:trueup.sqlite
                report:
                  directory: reports

                """, to: "trueup.yaml")
    }

    /// Writes a job; `lines` replace the defaults of a test: everything corrected, no guard.
    func writeJob(
        _ name: String, _ lines: String = "", steps: String = "[recover, walk]",
        mode: String = "apply",
        guards: String = "max_changes: 100000, max_change_share: 1, max_not_found_share: 1"
    ) throws {
        try folder.write(
            """
            steps: \(steps)
            mode: \(mode)
            coverage: full
            guards: {\(guards)}
            \(lines)

            """, to: "jobs/\(name).yaml")
    }

    @discardableResult
    func run(
        _ arguments: String..., environment: [String: String] = [:]
    ) throws -> BuiltExecutable.Result {
        defer { addUp() }
        let result = try trueup.run(arguments, in: folder.url, environment: environment)
        DocumentedStatuses.expect(result.status, after: arguments)
        return result
    }

    @discardableResult
    func run(_ arguments: [String]) throws -> BuiltExecutable.Result {
        defer { addUp() }
        let result = try trueup.run(arguments, in: folder.url, environment: [:])
        DocumentedStatuses.expect(result.status, after: arguments)
        return result
    }

    /// Adds up what every new report prints, whatever a test is about.
    private func addUp() {
        let reports = folder.url.appendingPathComponent("reports")
        func names(_ folder: URL) -> [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        }
        for day in names(reports) where day.hasPrefix("20") {
            let runs = names(reports.appendingPathComponent(day))
            for run in runs
            where !run.hasSuffix(".partial") && added.withLock({ $0.insert(run).inserted }) {
                let place = reports.appendingPathComponent(day).appendingPathComponent(run)
                func text(_ name: String) -> String? {
                    (try? Data(contentsOf: place.appendingPathComponent(name)))
                        .map { String(decoding: $0, as: UTF8.self) }
                }
                // A test may have damaged it.
                guard let summary = text("summary.json"), let page = text("report.html"),
                    let json = try? JSONSerialization.jsonObject(with: Data(summary.utf8)),
                    let object = json as? [String: Any], let shown = text("summary.txt")
                else { continue }
                let totals = ReportedTotals(
                    json: object, text: shown, page: page, workbook: text("discrepancies.xlsx"))
                for problem in totals.problems { Issue.record("\(run): \(problem)") }
            }
        }
    }

    func start(_ arguments: String...) throws -> BuiltExecutable.Running {
        try trueup.start(arguments, in: folder.url)
    }

    /// The newest report's file of this name.
    func report(_ name: String) throws -> String {
        try folder.text("reports/latest/" + name)
    }

    /// The objects of a JSON Lines file of the newest report.
    func reportLines(_ name: String) throws -> [[String: Any]] {
        try report(name).split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require(object as? [String: Any])
        }
    }

    func summary() throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(report("summary.json").utf8))
        return try #require(object as? [String: Any])
    }

    /// The exported rows by original transaction id, without the columns named.
    func rows(without dropped: Set<String> = []) throws -> [String: [String: String]] {
        let export = try run("export")
        try #require(export.status == 0, "\(export.errors)")
        var lines = export.output.split(separator: "\r\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        if lines.count <= 1 {
            lines = export.output.split(separator: "\n").map {
                $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
        }
        let header = try #require(lines.first)
        var rows: [String: [String: String]] = [:]
        for line in lines.dropFirst() {
            let row = Dictionary(uniqueKeysWithValues: zip(header, line))
            let id = [row["bundle_id"], row["environment"], row["original_transaction_id"]]
                .compactMap(\.self).joined(separator: "/")
            rows[id] = row.filter { !dropped.contains($0.key) }
        }
        return rows
    }

    /// What the database holds, each value with SQLite's name of its storage class.
    func stored(_ query: String) throws -> [[String]] {
        try service().read { db in
            try Row.fetchAll(db, sql: query).map { row in
                row.databaseValues.map { "\($0.storage.value ?? "NULL")" }
            }
        }
    }

    /// Changes the database as the company's own services do: from outside.
    func sql(_ statement: String) throws {
        try service().write { try $0.execute(sql: statement) }
    }

    /// A connection that waits for a run's transaction, as a service's does.
    private func service() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        return try DatabaseQueue(
            path: folder.url.appendingPathComponent("trueup.sqlite").path,
            configuration: configuration)
    }
}
