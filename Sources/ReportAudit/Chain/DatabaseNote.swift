/// `database.json` of a report folder and what the manifests say of the database: two databases
/// never share a folder.
enum DatabaseNote {
    static let name = "database.json"
    private static let limitBytes = 1 << 16

    static func problems(in directory: String, _ chain: RunChain) -> [AuditProblem] {
        var problems: [AuditProblem] = []
        var known: String?
        var ledgerHead = LedgerTrail.beginning
        for link in chain.links {
            let before = ledgerHead
            ledgerHead = link.manifest.ledgerHead
            guard let database = link.manifest.database else { continue }
            if let known, !known.isSame(as: database), link.manifest.breaks.isEmpty,
                // Made again before anything was ever written, a database has lost nothing.
                before != LedgerTrail.beginning
            {
                problems.append(
                    AuditProblem(
                        run: link.folder, file: FileCheck.manifest,
                        text: "its database is \(database), the runs before are of \(known)"))
            }
            known = database
        }
        guard let known, Folder.entry(at: directory + "/" + name) != .nothing else {
            return problems
        }
        let bytes = try? PlainFile.contents(of: directory + "/" + name, limit: limitBytes)
        let stated = bytes.flatMap { JSONRecord($0) }?.text("database")
        if !known.isSame(as: stated) {
            problems.append(
                AuditProblem(
                    file: name,
                    text: "it names the database \(stated ?? "of nobody"), the newest run is of "
                        + known))
        }
        return problems
    }
}
