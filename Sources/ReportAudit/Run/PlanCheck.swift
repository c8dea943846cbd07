import Crypto
import JSONWebSignature
import Subscriptions

/// Checks `plan.json`: seal, identity, run, and every planned value against its evidence.
struct PlanCheck {
    static let name = "plan.json"
    /// Members of the head that are also in the manifest.
    private static let shared = ["mode", "run_id", "settings_digest", "started", "tool_version"]
    /// The same, unless the plan was made by an earlier run.
    private static let ofOwnPlan = ["job", "scope"]

    /// Members of the head about the run that wrote the file.
    ///
    /// The identity of the plan covers the other members, and every item without its fate.
    private static let ofFile: Set<String> = [
        "corrections", "format", "guards", "job_file", "mode", "notice", "plan_only",
        "plan_sha256", "run_id", "settings_digest", "started", "tool_version",
    ]

    let folder: String
    let manifest: ManifestRecord
    let statements: StatementCheck
    let problems: RunProblems

    func check(counts: inout RunCounts) async throws(UnreadableFile) {
        var list = try SealedList(folder + "/" + Self.name)
        if let head = list.head {
            let isOwn = !head.states("planned_by") || problems.isOfRun(head, "planned_by")
            for name in Self.shared + (isOwn ? Self.ofOwnPlan : [])
            where !JSONValue.areSame(head[name], manifest.record[name]) {
                problems.add(Self.name, line: 1, "its \(name) is another than manifest.json's")
            }
        } else {
            problems.add(Self.name, line: 1, "it is not the head of a plan")
        }
        var identity = SHA256()
        identity.update(line: list.head?.text { !Self.ofFile.contains($0) } ?? "")
        while let item = try list.next({ problems.add(Self.name, line: $0, $1) }) {
            identity.update(line: item.text { $0 != "fate" })
            counts.take(planned: item)
            let found =
                item.states("undo_of")
                ? await statements.check(undoing: item) : await statements.check(item)
            for problem in found.problems {
                problems.add(Self.name, line: list.lineNumber, problem)
            }
        }
        // A run that ended before its plan was complete has none.
        guard let stated = list.head?.text("plan_sha256") else { return }
        counts.plan = stated
        if !identity.finalize().hexadecimal.isSame(as: stated) {
            problems.add(
                Self.name, line: 1,
                "its plan_sha256 is not the digest of this plan: head or corrections were edited")
        }
    }
}

extension SHA256 {
    fileprivate mutating func update(line: String) {
        update(data: Array((line + "\n").utf8))
    }
}
