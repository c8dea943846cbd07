import Foundation
import Reports
import Subscriptions
import Testing

@Suite struct `The folder of a run` {
    static let name = "20261120T031704Z-7f3c9a"
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func begin(_ runID: String = name) throws -> ReportFolder {
        try ReportFolder.begin(in: folder.path, runID: runID, started: Samples.started)
    }

    @Test func `is partial until it is finished, then holds every file`() throws {
        let report = try begin()
        #expect(try folder.names(in: "2026-11-20") == [Self.name + ".partial"])
        #expect(report.logPath == "\(folder.path)/2026-11-20/\(Self.name).partial/run.log.jsonl")
        try Data("{\"event\":\"run.begun\"}\n".utf8).write(to: URL(fileURLWithPath: report.logPath))
        let finished = try report.finish(try Samples.run(), context: Samples.context)
        #expect(finished.path == "\(folder.path)/2026-11-20/\(Self.name)")
        #expect(try folder.names() == ["2026-11-20", "index.csv", "latest"])
        #expect(try folder.names(in: "2026-11-20") == [Self.name])
        #expect(
            try folder.names(in: "latest") == [
                "README.txt", "SHA256SUMS", "business.csv", "business.jsonl",
                "corrections.csv", "corrections.jsonl",
                "derivations.jsonl", "discrepancies.csv", "discrepancies.jsonl",
                "discrepancies.xlsx", "entitlements.csv", "evidence.jsonl", "manifest.json",
                "not_found.csv", "notifications.csv", "plan.json", "report.html", "run.log.jsonl",
                "summary.json", "summary.txt", "undecided.csv", "undo.json", "unowned.csv",
            ])
        #expect(try folder.text("latest/run.log.jsonl") == "{\"event\":\"run.begun\"}\n")
        #expect(
            try folder.text("latest/summary.txt")
                .hasSuffix("\nReport   reports/2026-11-20/\(Self.name)\n"))
        #expect(try sha256(try folder.text("latest/manifest.json")) == finished.manifestDigest)
    }

    @Test func `seals no line of the log that was torn while it was written`() throws {
        let report = try begin()
        try Data("{\"a\":1}\n{\"b\":2}\n{\"c\":".utf8).write(
            to: URL(fileURLWithPath: report.logPath))
        _ = try report.finish(try Samples.run(), context: Samples.context)
        #expect(try folder.text("latest/run.log.jsonl") == "{\"a\":1}\n{\"b\":2}\n")
        let sums = try shell("sha256sum -c SHA256SUMS", in: folder.path + "/latest")
        #expect(sums.status == 0, "\(sums.output)")
    }

    @Test func `rests on a report that is missing, else on the newest`() throws {
        let gone = String(repeating: "a", count: 64)
        #expect(ReportFolder.newestRun(in: folder.path) == nil)
        var first = try begin()
        first.earlierManifest = gone
        #expect(ReportFolder.newestRun(in: folder.path) == nil)
        let finished = try first.finish(try Samples.run(), context: Samples.context)
        #expect(try folder.text("latest/manifest.json").contains("\"previous\": \"\(gone)\""))
        #expect(ReportFolder.newestRun(in: folder.path) == Self.name)
        let next = "20261121T031704Z-000002"
        let second = try begin(next)
        _ = try second.finish(try Samples.run(next), context: Samples.context)
        #expect(
            try folder.text("latest/manifest.json").contains(
                "\"previous\": \"\(finished.manifestDigest)\""))
        #expect(ReportFolder.newestRun(in: folder.path) == next)
        // An older state of the folder was put back: whole again when the missing one is, too.
        let last = "20261122T031704Z-000003"
        var third = try begin(last)
        third.earlierManifest = gone
        _ = try third.finish(try Samples.run(last), context: Samples.context)
        #expect(try folder.text("latest/manifest.json").contains("\"previous\": \"\(gone)\""))
    }

    @Test func `latest is a relative link to the newest run`() throws {
        for runID in [Self.name, "20261121T031704Z-000002"] {
            _ = try folder.report(try Samples.run(runID))
            let target = try FileManager.default.destinationOfSymbolicLink(
                atPath: folder.path + "/latest")
            #expect(target == "2026-11-20/" + runID)
        }
    }

    @Test func `of a killed run is removed by the next one, finished ones stay`() throws {
        _ = try folder.report()
        let killed = try begin("20261120T040000Z-dead00")
        #expect(FileManager.default.fileExists(atPath: killed.logPath))
        try folder.write("half", to: "index.csv.partial")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/latest.partial", withDestinationPath: "nowhere")
        try FileManager.default.createDirectory(
            atPath: folder.path + "/2026-11-01/a.partial/b", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            atPath: folder.path + "/somebody-elses/c.partial", withIntermediateDirectories: true)
        _ = try begin("20261120T050000Z-000003")
        #expect(
            try folder.names(in: "2026-11-20") == [Self.name, "20261120T050000Z-000003.partial"])
        #expect(try folder.names(in: "2026-11-01").isEmpty)
        #expect(try folder.names(in: "somebody-elses") == ["c.partial"])
        #expect(
            try folder.names() == [
                "2026-11-01", "2026-11-20", "index.csv", "latest", "somebody-elses",
            ])
    }

    @Test(arguments: [
        "discrepancies.jsonl", "plan.json", "evidence.jsonl", "summary.txt", "manifest.json",
        "SHA256SUMS", "README.txt",
    ])
    func `does not get its final name when the disk is full`(file: String) throws {
        let report = try begin()
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/2026-11-20/\(Self.name).partial/\(file)",
            withDestinationPath: "/dev/full")
        let error = #expect(throws: ReportError.self) {
            try report.finish(try Samples.run(), context: Samples.context)
        }
        guard case .notWritten(let text) = error else {
            Issue.record("not .notWritten: \(String(describing: error))")
            return
        }
        #expect(text.contains("No space left on device"))
        #expect(try folder.names(in: "2026-11-20") == [Self.name + ".partial"])
        #expect(try folder.names() == ["2026-11-20"])
    }

    @Test func `does not get its final name when the index cannot be written`() throws {
        let report = try begin()
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/index.csv.partial", withDestinationPath: "/dev/full")
        #expect(throws: ReportError.self) {
            try report.finish(try Samples.run(), context: Samples.context)
        }
        #expect(try folder.names(in: "2026-11-20") == [Self.name + ".partial"])
    }

    @Test func `passes on what the stored run says when it cannot be read`() throws {
        struct Broken: Error, CustomStringConvertible { let description = "the disk is gone" }
        struct BrokenRun: RunRecord {
            func summary() throws -> RunSummary { Samples.summary() }
            func forEachFinding(_ body: (ReportedFinding) throws -> Void) throws { throw Broken() }
            func forEachCorrection(_ body: (LedgerEntry) throws -> Void) throws {}
            func forEachEvidencedCorrection(
                where isNeeded: (LedgerEntry) -> Bool, _ body: (ReportedCorrection) throws -> Void
            ) throws -> Int { 0 }
            func forEachPlanned(
                _ body: (PlannedCorrection, CorrectionFate) throws -> Void
            ) throws {}
            func forEachUndecided(_ body: (UndecidedRow) throws -> Void) throws {}
            func forEachNotFound(_ body: (NotFoundAccount) throws -> Void) throws {}
            func forEachNotification(_ body: (NotificationAudit) throws -> Void) throws {}
            func forEachEntitlementChange(_ body: (EntitlementChange) throws -> Void) throws {}
            func forEachUnowned(_ body: (UnownedPurchase) throws -> Void) throws {}
            func forEachEvidence(_ body: (ReportedEvidence) throws -> Void) throws {}
            func forEachEarlierRun(
                since first: Timestamp, _ body: (EarlierRun) throws -> Void
            ) throws {}
        }
        let report = try begin()
        #expect(
            throws: ReportError.record(
                "the stored run \(Self.name) cannot be read: the disk is gone")
        ) {
            try report.finish(BrokenRun(), context: Samples.context)
        }
    }

    @Test func `refuses the record of another run`() throws {
        let report = try begin("20261120T050000Z-000003")
        #expect(
            throws: ReportError.record(
                "the stored run is \(Self.name), the report folder is of 20261120T050000Z-000003")
        ) {
            try report.finish(try Samples.run(), context: Samples.context)
        }
    }

    @Test func `cannot be created where a file stands, or twice, or outside`() throws {
        try folder.write("", to: "file")
        #expect(
            throws: ReportError.cannotCreate(
                "cannot create the folder \(folder.path)/file: File exists; move away what is "
                    + "there, or change report.directory")
        ) {
            try ReportFolder.begin(
                in: folder.path + "/file", runID: Self.name, started: Samples.started)
        }
        #expect(throws: ReportError.self) { try begin("../x") }
        _ = try folder.report()
        #expect(
            throws: ReportError.cannotCreate(
                "the report \(folder.path)/2026-11-20/\(Self.name) exists already")
        ) { try begin() }
    }

    @Test func `cannot be created where latest is not a link`() throws {
        try FileManager.default.createDirectory(
            atPath: folder.path + "/latest", withIntermediateDirectories: true)
        #expect(throws: ReportError.self) { try begin() }
    }

    @Test func `has the same bytes for the same record, wherever it is written`() throws {
        let other = try TemporaryFolder()
        _ = try folder.report()
        _ = try other.report()
        for name in try folder.names(in: "latest") {
            #expect(
                try folder.text("latest/" + name) == (try other.text("latest/" + name)), "\(name)")
        }
        #expect(try folder.text("index.csv") == (try other.text("index.csv")))
    }

    @Test func `is closed to others: it names customers`() throws {
        let report = try folder.report()
        let modes = try shell("stat -c %a . .. * ../../index.csv", in: report.path)
        #expect(modes.output.split(separator: "\n").filter { !$0.hasSuffix("0") } == [])
    }

    @Test func `passes sha256sum, and no longer when a byte is flipped`() throws {
        let report = try folder.report()
        let result = try shell("sha256sum -c SHA256SUMS", in: report.path)
        #expect(result.status == 0, "\(result.output)")
        let names = try folder.names(in: "latest")
        #expect(result.output.split(separator: "\n").count == names.count - 1)
        #expect(result.output.contains("manifest.json: OK"))
        let text = try folder.text("latest/undecided.csv")
        try folder.write(
            text.replacing("rate_limited", with: "rate_limitee"), to: "latest/undecided.csv")
        #expect(try shell("sha256sum -c SHA256SUMS", in: report.path).status != 0)
    }
}
