import JSONWebSignature

/// Checks `plan.json`: seal, run, and every planned value against the payload it rests on.
struct PlanCheck {
    static let name = "plan.json"
    /// What the head repeats of the manifest.
    private static let shared = ["mode", "run_id", "settings_digest", "started", "tool_version"]
    /// What it repeats too, unless the plan was made by an earlier run.
    private static let ofOwnPlan = ["job", "scope"]

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
        while let item = try list.next({ problems.add(Self.name, line: $0, $1) }) {
            counts.fates[item.text("fate") ?? "?", default: 0] += 1
            let found =
                item.states("undo_of")
                ? await statements.problems(ofUndoing: item) : await statements.problems(of: item)
            for problem in found {
                problems.add(Self.name, line: list.lineNumber, problem)
            }
        }
    }
}
