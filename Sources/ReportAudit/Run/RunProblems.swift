/// Collects what is wrong with one run.
final class RunProblems {
    private let folder: String
    /// `nil` when the manifest cannot be read.
    private let manifest: ManifestRecord?
    private(set) var list = ProblemList()

    init(folder: String, manifest: ManifestRecord?) {
        self.folder = folder
        self.manifest = manifest
    }

    var count: Int { list.count }

    func add(_ file: String?, line: Int? = nil, entry: Int64? = nil, _ text: String) {
        list.append(
            AuditProblem(run: folder, file: file, line: line, ledgerEntry: entry, text: text))
    }

    /// Whether something names this run as its own.
    func isOfRun(_ record: JSONRecord, _ member: String = "run_id") -> Bool {
        manifest.map { $0.runID.isSame(as: record.text(member)) } ?? true
    }
}
