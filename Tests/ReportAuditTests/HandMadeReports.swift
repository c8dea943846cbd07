import Crypto
import Foundation
import ReportAudit
import TestSupport

/// Report folders put together by hand from docs/report-files.md, without the code that writes
/// them.
final class HandMadeReports {
    /// One written correction: what it was made from and what was written.
    struct Correction {
        var table = "subscriptions"
        var before: [String: Any]
        var after: [String: Any]
        var undoOf: Int?
        /// Left out, as older versions did, where it is `nil`.
        var action: String?
        /// Instead of the next number: the same entry once more.
        var repeats: Int?
    }

    static let id = "2000000000000001"
    static let signedMilliseconds = 1_763_608_625_123
    static let signedDate = "2025-11-20T03:17:05.123Z"

    let folder: TemporaryFolder
    let chain: TestSigningChain
    private(set) var runs: [String] = []
    private let transaction: String
    private let renewal: String
    private var entries: [[String: Any]] = []
    private var previousManifest: Any = NSNull()
    private var index = [
        "run_id,folder,manifest_sha256,job,mode,started,ended,exit_status,outcome,in_scope,matched,"
            + "discrepant,undecided,excluded,findings,corrections_applied,scope,tool_version"
    ]

    var directory: String { folder.url.appendingPathComponent("reports").path }

    init() throws {
        folder = try TemporaryFolder()
        chain = try TestSigningChain()
        let shared = """
            "environment":"Production","originalTransactionId":"\(Self.id)",\
            "signedDate":\(Self.signedMilliseconds)
            """
        transaction = try chain.sign(
            """
            {"bundleId":"com.example.app","expiresDate":1764608625000,"price":9990,\
            "productId":"pro.monthly","transactionId":"2000000000000009",\(shared)}
            """)
        renewal = try chain.sign("{\"autoRenewStatus\":1,\(shared)}")
    }

    /// Adds a night with these corrections, and moves `latest` to it.
    ///
    /// A check has a plan instead, and in its CSV the lines that are told of it.
    ///
    /// - Parameters:
    ///   - corrections: What was written.
    ///   - derivations: The lines of `derivations.jsonl`, without what is the correction's; `nil` as
    ///     in older reports, which have no such file.
    ///   - business: The lines of `business.jsonl`, without the run, and what the summary says of it;
    ///     `nil` as in older reports, which have no such file.
    ///   - control: The control totals of the summary; `nil` as in older reports, which have none.
    ///   - purchases: How many one-time purchases the summary counts; `nil` where none is stored.
    ///   - isListed: Whether the index has its line.
    ///   - mode: Of the run.
    ///   - planned: The items of its plan.
    ///   - plannedLines: The lines of its CSV that are told of the plan.
    ///   - app: The app that is configured, whatever the lines are about.
    ///   - listsFinding: Whether a finding of an earlier night is still open.
    ///   - findings: Further findings, without what all of them share.
    /// - Throws: What writing the files throws.
    func addNight(
        _ corrections: [Correction], derivations: [[String: Any]]? = nil,
        business: (lines: [[String: Any]], summary: [String: Any])? = nil,
        control: [[String: Any]]? = nil, purchases: [String: Int]? = nil, isListed: Bool = true,
        mode: String = "apply", planned: [[String: Any]] = [], plannedLines: [String] = [],
        app: String = "com.example.app", listsFinding: Bool = false,
        findings: [[String: Any]] = []
    ) throws {
        let number = runs.count + 1
        let runID = "2025112\(number)T031704Z-00000\(number)"
        let name = "2025-11-2\(number)/\(runID)"
        let written = corrections.map { entry($0, runID) }
        let head = entries.last?["ledger_hash"] as? String ?? String(repeating: "0", count: 64)
        var files = Self.emptyFiles
        let listed =
            findings.map { openFinding(runID).merging($0) { $1 } }
            + (listsFinding ? [openFinding(runID)] : [])
        files["evidence.jsonl"] = written.isEmpty && listed.isEmpty ? "" : evidence
        if !listed.isEmpty {
            files["discrepancies.jsonl"] = listed.map { Self.canonical($0) + "\n" }.joined()
            files["discrepancies.csv"] =
                "kind\r\n" + listed.map { "\($0["kind"] ?? "")\r\n" }.joined()
        }
        files["corrections.jsonl"] = written.map { Self.canonical($0) + "\n" }.joined()
        files["corrections.csv"] =
            "ledger_entry,field,before,after\r\n"
            + (written.flatMap(Self.csvLines) + plannedLines).map { $0 + "\r\n" }.joined()
        if let derivations {
            files["derivations.jsonl"] = zip(derivations, written).map { line, entry in
                let shared = Set([
                    "app", "environment", "evidence", "evidence_renewal", "ledger_entry",
                    "original_transaction_id", "run_id",
                ])
                return Self.canonical(
                    entry.filter { shared.contains($0.key) }.merging(line) { $1 }) + "\n"
            }.joined()
        }
        if let business {
            let lines = business.lines.map { $0.merging(["run_id": runID]) { own, _ in own } }
            files["business.jsonl"] = lines.map { Self.canonical($0) + "\n" }.joined()
            let columns = lines.first?.keys.sorted() ?? []
            let rows = lines.map { line in
                columns.map { line[$0].map { $0 is NSNull ? "" : "\($0)" } ?? "" }
            }
            files["business.csv"] = ([columns] + rows)
                .map { $0.joined(separator: ",") + "\r\n" }.joined()
        }
        let inverses = written.map(Self.inverse)
        files["undo.json"] = Self.sealed(["run_id": runID], "inverses", inverses)
        let shared: [String: Any] = [
            "ended": "2025-11-2\(number)T03:20:00.000Z", "job": "nightly", "ledger_head": head,
            "mode": mode, "run_id": runID, "started": "2025-11-2\(number)T03:17:04.000Z",
            "totals": [
                "in_scope": 1, "matched": 1, "discrepant": 0, "undecided": 0, "excluded": 0,
            ],
        ]
        files["plan.json"] = Self.sealed(
            shared.filter { ["job", "mode", "run_id", "started"].contains($0.key) }, "corrections",
            planned)
        files["summary.json"] = Self.canonical(
            shared.merging([
                "corrections": ["applied": written.count],
                "business": business?.summary ?? NSNull() as Any,
                "control_totals": control ?? NSNull() as Any,
                "purchases": purchases ?? NSNull() as Any,
                "finding_states": Self.counts(of: "state", in: listed),
                "findings": Self.counts(of: "severity", in: listed),
                "money": Self.money(of: listed),
            ]) { $1 })
        let manifest = shared.merging([
            "apps": [
                [
                    "bundle_id": app, "environment": "Production",
                    "app_apple_id": 1_234_567_890,
                ]
            ],
            "corrections_applied": written.count, "findings": listed.count, "format": 1,
            "previous": previousManifest, "trusted_roots": [Any](),
            "files": files.map { name, text in
                [
                    "name": name, "sha256": Self.digest(text), "bytes": text.utf8.count,
                    "lines": text.utf8.count { $0 == 0x0A },
                ] as [String: Any]
            },
        ]) { $1 }
        files["manifest.json"] = Self.canonical(manifest)
        files["SHA256SUMS"] = files.map { "\(Self.digest($1))  \($0)\n" }.joined()
        for (file, text) in files { try folder.write(text, to: "reports/\(name)/\(file)") }
        let digest = Self.digest(files["manifest.json"] ?? "")
        previousManifest = digest
        runs.append(name)
        let line = """
            \(runID),\(name),\(digest),nightly,\(mode),2025-11-2\(number)T03:17:04.000Z,\
            2025-11-2\(number)T03:20:00.000Z,,,1,1,0,0,0,\(listed.count),\
            \(written.count),,
            """
        let lines = index + [line]
        try folder.write(
            lines.map { $0 + "\r\n" }.joined(),
            to: "reports/index.csv" + (isListed ? "" : ".partial"))
        if isListed { index = lines }
        let link = directory + "/latest"
        try? FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: name)
    }

    /// Removes the oldest night, as retention does.
    func removeFirst() throws {
        try FileManager.default.removeItem(atPath: directory + "/" + runs.removeFirst())
    }

    /// Audits the folder of one run, or all of them.
    func audit(
        _ run: String? = nil
    ) async throws -> (result: AuditResult, problems: [String], notes: [String]) {
        let trust = try AuditTrust(certificateFiles: [chain.rootDER])
        var problems: [String] = []
        var notes: [String] = []
        let result = try await ReportAudit(trust: trust, anchors: []).audit(
            run.map { directory + "/" + $0 } ?? directory
        ) { run in
            problems += run.counts.problems.problems.map(\.description)
            notes += run.notes
        }
        return (
            result, problems + result.problems.problems.map(\.description), notes + result.notes
        )
    }

    private func entry(_ correction: Correction, _ runID: String) -> [String: Any] {
        if let repeats = correction.repeats { return entries[repeats - 1] }
        let isPeriod = correction.table == "transactions"
        let previous =
            entries.last?["ledger_hash"] as? String ?? String(repeating: "0", count: 64)
        var entry: [String: Any] = [
            "actor": "job@host", "after": correction.after, "app": "com.example.app",
            "apple_signed_date": Self.signedDate, "before": correction.before,
            "environment": "Production", "evidence": Self.digest(transaction),
            "evidence_renewal": isPeriod ? NSNull() : Self.digest(renewal) as Any,
            "kinds": ["product"], "ledger_entry": entries.count + 1, "ledger_previous": previous,
            "original_transaction_id": Self.id, "reason": "r", "run_id": runID,
            "table": correction.table,
            "transaction_id": isPeriod ? "2000000000000009" : NSNull() as Any,
            "undo_of": correction.undoOf as Any? ?? NSNull(),
            "written_at": Self.signedDate,
        ]
        if let action = correction.action { entry["action"] = action }
        entry["ledger_hash"] = Self.digest(previous + Self.canonical(entry))
        entries.append(entry)
        return entry
    }

    private func openFinding(_ runID: String) -> [String: Any] {
        [
            "action": "none", "app": "com.example.app", "environment": "Production",
            "evidence": Self.digest(transaction), "kind": "access_unpaid",
            "original_transaction_id": Self.id, "run_id": runID, "severity": "high",
            "state": "open",
        ]
    }

    /// When the payloads of the nights to come were erased; `nil` where they are there.
    var erasedAt: String?

    /// Payloads of its own making, for findings of kinds about other values.
    private var others: [String] = []

    /// Adds a payload to the evidence of the nights to come.
    ///
    /// - Returns: Its digest.
    func sign(_ payload: String) throws -> String {
        let jws = try chain.sign(payload)
        others.append(jws)
        return Self.digest(jws)
    }

    private static func counts(
        of member: String, in findings: [[String: Any]]
    ) -> [String: [String: Int]] {
        var counts: [String: [String: Int]] = [:]
        for finding in findings {
            let kind = finding["kind"] as? String ?? ""
            counts[kind, default: [:]][finding[member] as? String ?? "", default: 0] += 1
        }
        return counts
    }

    /// Of findings with an amount, each of another period or direction.
    private static func money(of findings: [[String: Any]]) -> [[String: Any]] {
        findings.filter { $0["amount"] is Int && $0["direction"] is String }.map { finding in
            [
                "amount": finding["amount"] ?? 0, "currency": finding["currency"] ?? "",
                "direction": finding["direction"] ?? "", "findings": 1,
            ]
        }
    }

    private var evidence: String {
        ([transaction, renewal] + others).map { (Self.digest($0), $0) }.sorted { $0.0 < $1.0 }
            .map { digest, jws in
                let content =
                    erasedAt.map { "\"erased_at\":\"\($0)\",\"erased_because\":\"customer\"" }
                    ?? "\"jws\":\"\(jws)\""
                return "{\(content),\"sha256\":\"\(digest)\"}\n"
            }.joined()
    }

    private static let emptyFiles = [
        "README.txt": "", "discrepancies.csv": "kind\r\n", "discrepancies.jsonl": "",
        "not_found.csv": "app\r\n", "notifications.csv": "app\r\n", "run.log.jsonl": "",
        "summary.txt": "", "undecided.csv": "run_id,reason\r\n",
    ]

    private static func inverse(_ entry: [String: Any]) -> [String: Any] {
        let shared: Set = [
            "app", "environment", "evidence", "evidence_renewal", "ledger_hash",
            "original_transaction_id", "table", "transaction_id",
        ]
        return entry.filter { shared.contains($0.key) }.merging([
            "action": entry["action"] as? String == "update"
                ? "update" : entry["table"] as? String == "transactions" ? "delete" : "update",
            "before": entry["after"] ?? NSNull(), "after": entry["before"] ?? NSNull(),
            "undo_of": entry["ledger_entry"] ?? NSNull(),
        ]) { $1 }
    }

    private static func csvLines(_ entry: [String: Any]) -> [String] {
        let after = entry["after"] as? [String: Any] ?? [:]
        let before = entry["before"] as? [String: Any] ?? [:]
        return after.keys.sorted().map { field in
            let values = [before[field], after[field]].map {
                $0 == nil || $0 is NSNull ? "" : "\($0 ?? "")"
            }
            return "\(entry["ledger_entry"] ?? ""),\(field),\(values[0]),\(values[1])"
        }
    }

    private static func sealed(
        _ head: [String: Any], _ list: String, _ items: [[String: Any]]
    ) -> String {
        let text =
            String(canonical(head).dropLast()) + ",\"\(list)\":[\n"
            + items.map(canonical).joined(separator: ",\n") + (items.isEmpty ? "" : "\n")
        return text + "],\"sha256\":\"\(digest(text))\"}\n"
    }

    private static func digest(_ text: String) -> String {
        SHA256.hash(data: Data(text.utf8)).map { String(format: "%02x", $0) }.joined()
    }

    private static func canonical(_ value: Any) -> String {
        switch value {
        case let object as [String: Any]:
            return "{"
                + object.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                .map { "\"\($0.key)\":\(canonical($0.value))" }.joined(separator: ",") + "}"
        case let list as [Any]: return "[" + list.map(canonical).joined(separator: ",") + "]"
        case let text as String: return "\"\(text)\""
        case is NSNull: return "null"
        default: return "\(value)"
        }
    }
}
