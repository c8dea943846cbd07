import JSONWebSignature
import Subscriptions

/// Checks the report of a comparison: that its totals tie out with each other, with the list of
/// differences and with the manifest, and that Apple signed what the differences rest on.
struct CompareCheck {
    static let folderName = "compare"
    static let lineFile = "differences.jsonl"
    static let csvFile = "differences.csv"
    static let summaryFile = SummaryCheck.name
    /// Kinds whose differences are about no line.
    private static let aboutNoLine = "_missing"
    /// Kinds of lines about what Apple does not know.
    private static let onlyTheirs = "_unknown"

    /// Kinds of differences between sums, and the one whose lines Apple alone knows of.
    private static let ofSums = "sales_"
    private static let withoutRows = "sales_population"

    let run: RunFolder
    let report: (_ file: String, _ line: Int?, _ text: String) -> Void

    private var manifest: ManifestRecord { run.manifest }

    private struct Counts {
        var differences: Int64 = 0
        var byKind: [String: Int64] = [:]
        var different: Int64 = 0
        var onlyTheirs: Int64 = 0
        /// Lines of which the list does not say whether they are different or only theirs.
        var differentOrTheirs: Int64 = 0
        var onlyApple: Int64 = 0
    }

    /// - Returns: How many differences the list has.
    func check() async -> Int {
        var counts = Counts()
        do throws(UnreadableFile) {
            let checked = try EvidenceFile.check(folder: run.path, endOfRun: nil) {
                report(EvidenceFile.name, $0, $1)
            }
            let evidence = try EvidenceFile(of: run, guide: checked.guide)
            counts = try await count(run.file(Self.lineFile), evidence)
        } catch {
            report(Self.lineFile, nil, error.reason)
        }
        do throws(UnreadableFile) {
            let rows = try rows(run.file(Self.csvFile))
            if rows != counts.differences {
                report(
                    Self.csvFile, nil,
                    "it has \(rows) differences, \(Self.lineFile) has \(counts.differences)")
            }
        } catch {
            report(Self.csvFile, nil, error.reason)
        }
        do throws(UnreadableFile) {
            if let summary = try SummaryCheck.summary(in: run.path) {
                check(summary, counts)
            } else {
                report(Self.summaryFile, nil, "it is not a JSON object")
            }
        } catch {
            // `FileCheck` reports that it is missing.
        }
        return Int(counts.differences)
    }

    /// Checks that Apple signed the payload that a difference names, about its subscription.
    private func check(
        _ record: JSONRecord, _ line: Int, by evidence: EvidenceFile
    ) async {
        guard let digest = record.text("evidence") else { return }
        let app = manifest.apps.first {
            $0.identity.bundleID == record.text("bundle_id")
                && $0.identity.environment.rawValue == record.text("environment")
        }
        guard let app else {
            return report(Self.lineFile, line, "its app is none of manifest.json")
        }
        do throws(UnreadableFile) {
            let statement = try await evidence.statement(of: digest, for: app)
            let subscription: String? =
                switch statement {
                case .foreign(let other): other.originalTransactionID.map { "another app's " + $0 }
                case .erased: record.text("original_transaction_id")
                default: statement.named?.originalTransactionID
                }
            if subscription != record.text("original_transaction_id") {
                report(
                    Self.lineFile, line,
                    "its evidence \(digest) is about the subscription \(subscription ?? "of no id")"
                )
            }
        } catch {
            report(Self.lineFile, line, error.reason)
        }
    }

    private func count(
        _ path: String, _ evidence: EvidenceFile
    ) async throws(UnreadableFile) -> Counts {
        let lines = try LineFile(path)
        var counts = Counts()
        var last: [String?] = []
        while let bytes = try lines.next() {
            counts.differences += 1
            guard let record = JSONRecord(bytes), let kind = record.text("kind") else {
                report(Self.lineFile, lines.lineNumber, "it is not a difference")
                continue
            }
            counts.byKind[kind, default: 0] += 1
            await check(record, lines.lineNumber, by: evidence)
            guard !kind.hasPrefix(Self.ofSums) else {
                count(record, kind, &counts)
                continue
            }
            guard !kind.hasSuffix(Self.aboutNoLine) else {
                counts.onlyApple += 1
                continue
            }
            let line = [record.text("original_transaction_id"), record.text("transaction_id")]
            defer { last = line }
            guard line != last else { continue }
            if kind.hasSuffix(Self.onlyTheirs) {
                counts.onlyTheirs += 1
            } else {
                counts.different += 1
            }
        }
        return counts
    }

    /// Counts a difference between sums: `lines` says how many lines of the files it is about.
    private func count(_ record: JSONRecord, _ kind: String, _ counts: inout Counts) {
        guard record.integer("theirs") != nil else {
            counts.onlyApple += 1
            return
        }
        let lines = record.integer("lines") ?? 0
        if kind != Self.withoutRows {
            counts.different &+= lines
        } else if record.integer("apple") == 0 {
            counts.onlyTheirs &+= lines
        } else {
            // Too few rows are a difference, unless all of them have another product by now.
            counts.differentOrTheirs &+= lines
        }
    }

    private func rows(_ path: String) throws(UnreadableFile) -> Int64 {
        let file = try CSVRecords(path)
        var rows: Int64 = 0
        while try file.next() != nil { rows += 1 }
        return rows
    }

    private func check(_ summary: JSONRecord, _ counts: Counts) {
        for name in ["ended", "outcome", "run_id", "started", "tool_version"]
        where !JSONValue.areSame(summary[name], manifest.record[name]) {
            report(Self.summaryFile, nil, "its \(name) is another than manifest.json's")
        }
        let totals = summary.record("totals")
        let stated = { (name: String) in totals?.integer(name) ?? -1 }
        let parts = ["matched", "different", "only_theirs", "not_compared"].map(stated)
        let sum = parts.reduce(0) { $0 &+ $1 }
        if parts.contains(where: { $0 < 0 }) || stated("lines") != sum {
            report(
                Self.summaryFile, nil,
                "its totals do not add up: lines is \(stated("lines")), the parts are \(sum)")
        }
        // As many of these lines are only theirs as the totals state beyond those of the list.
        let theirs = min(
            max(0, stated("only_theirs") &- counts.onlyTheirs), counts.differentOrTheirs)
        for (name, counted) in [
            ("different", counts.different &+ counts.differentOrTheirs &- theirs),
            ("only_theirs", counts.onlyTheirs &+ theirs), ("only_apple", counts.onlyApple),
        ] where stated(name) != counted {
            report(
                Self.summaryFile, nil,
                "its totals.\(name) is \(stated(name)), \(Self.lineFile) has \(counted)")
        }
        checkReasons(summary, stated("not_compared"))
        checkKinds(summary, counts)
        let own = manifest.record.record("totals")
        let listed = { (name: String) in own?.integer(name) ?? -1 }
        if listed("in_scope") != stated("lines") || listed("matched") != stated("matched")
            || listed("discrepant") != stated("different") &+ stated("only_theirs")
            || listed("undecided") &+ listed("excluded") != stated("not_compared")
        {
            report(Self.summaryFile, nil, "its totals are others than manifest.json's")
        }
        if manifest.record.integer("findings") != counts.differences {
            report(
                FileCheck.manifest, nil,
                "its findings are not as many as \(Self.lineFile) has differences")
        }
    }

    private func checkReasons(_ summary: JSONRecord, _ notCompared: Int64) {
        let reasons = summary.record("not_compared")
        let sum = reasons.map { record in
            record.names.reduce(Int64(0)) { $0 &+ (record.integer($1) ?? 0) }
        }
        if sum != notCompared {
            report(
                Self.summaryFile, nil, "its reasons of what was not compared do not add up")
        }
    }

    private func checkKinds(_ summary: JSONRecord, _ counts: Counts) {
        var byKind: [String: Int64] = [:]
        for element in summary["counts"]?.elements ?? [] {
            guard let count = JSONRecord(element), let kind = count.text("kind") else { continue }
            byKind[kind, default: 0] &+= count.integer("differences") ?? 0
        }
        if byKind != counts.byKind || summary.integer("differences") != counts.differences {
            report(
                Self.summaryFile, nil, "its counts are not what \(Self.lineFile) has")
        }
    }
}
