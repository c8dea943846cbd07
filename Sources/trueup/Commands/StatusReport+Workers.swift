import Reports
import Subscriptions

/// What `status` says of other workers on the same database.
extension StatusReport {
    var workerLines: [String] {
        if let gap { return ["", gap] }
        guard !others.isEmpty else { return [] }
        let head = [
            "apps", "job", "status", "in scope", "discrepant", "undecided", "corrected", "open",
            "began", "worker",
        ]
        let rows = others.map { run in
            let totals = run.listing.totals
            let mode = run.listing.mode == .apply ? "" : " \(run.listing.mode.rawValue)"
            return [
                NightSummary.Share(worker: run.worker, apps: run.apps).text,
                "\(run.listing.job)\(mode)",
                run.listing.exitStatus.map { "\($0.code) \($0.name)" } ?? "not ended",
                String(totals.inScope), String(totals.discrepant), String(totals.undecidedCount),
                run.figures.map { String($0.corrected) } ?? "–",
                run.figures.map { String($0.open) } ?? "–", moment(run.listing.started),
                PlainText.of(run.worker),
            ]
        }
        return ["", "Last runs of other workers"]
            + TextTable.lines([head] + rows, rightAligned: [3, 4, 5, 6, 7])
    }
}

extension WorkerRun {
    var json: CanonicalJSON {
        .object([
            "apps": .array(apps.map(CanonicalJSON.string)),
            "corrections_applied": figures.map { .integer(Int64($0.corrected)) } ?? .null,
            "ended": .time(listing.ended),
            "exit_status": listing.exitStatus.map { .integer(Int64($0.code)) } ?? .null,
            "findings_new": figures.map { .integer(Int64($0.new)) } ?? .null,
            "findings_open": figures.map { .integer(Int64($0.open)) } ?? .null,
            "headline": .text(headline),
            "job": .string(listing.job),
            "mode": .string(listing.mode.rawValue),
            "name": .text(listing.exitStatus?.name),
            "report": .text(report),
            "run_id": .string(listing.runID),
            "started": .time(listing.started),
            "worker": .string(worker),
        ])
    }
}
