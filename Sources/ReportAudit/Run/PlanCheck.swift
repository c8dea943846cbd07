import JSONWebSignature

/// Checks `plan.json`: seal, run, and every planned value against the payload it rests on.
struct PlanCheck {
    static let name = "plan.json"
    /// What the head repeats of the manifest.
    private static let shared = [
        "job", "mode", "run_id", "scope", "settings_digest", "started", "tool_version",
    ]

    let folder: String
    let manifest: ManifestRecord
    let statements: StatementCheck
    let problems: RunProblems

    func check(counts: inout RunCounts) async throws(UnreadableFile) {
        var list = try SealedList(folder + "/" + Self.name)
        if let head = list.head {
            for name in Self.shared where !JSONValue.areSame(head[name], manifest.record[name]) {
                problems.add(Self.name, line: 1, "its \(name) is another than manifest.json's")
            }
        } else {
            problems.add(Self.name, line: 1, "it is not the head of a plan")
        }
        while let item = try list.next({ problems.add(Self.name, line: $0, $1) }) {
            counts.fates[item.text("fate") ?? "?", default: 0] += 1
            for problem in await statements.problems(of: item) {
                problems.add(Self.name, line: list.lineNumber, problem)
            }
        }
    }
}
