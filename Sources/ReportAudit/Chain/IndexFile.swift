import JSONWebSignature

/// `index.csv` of the report folder: a line per run, deleted ones included.
struct IndexFile {
    static let name = "index.csv"
    /// Columns that the manifest has under another name or inside an object.
    private static let places: [String: [String]] = [
        "exit_status": ["outcome", "exit_status"], "outcome": ["outcome", "name"],
        "in_scope": ["totals", "in_scope"], "matched": ["totals", "matched"],
        "discrepant": ["totals", "discrepant"], "undecided": ["totals", "undecided"],
        "excluded": ["totals", "excluded"],
    ]
    /// Columns that are not in the manifest.
    private static let own: Set<String> = ["folder", "manifest_sha256"]
    /// Columns that every index has, so that none can be removed to hide its values.
    private static let required = [
        "run_id", "folder", "manifest_sha256", "job", "mode", "started", "ended", "exit_status",
        "outcome", "in_scope", "matched", "discrepant", "undecided", "excluded", "findings",
        "corrections_applied", "scope", "tool_version",
    ]

    struct Line {
        let number: Int
        let folder: String
        let manifestDigest: String
        let fields: [String: String]
    }

    var lines: [Line] = []
    /// Columns that it lacks.
    let missing: [String]
    /// Columns that this version does not know and cannot check.
    let unknown: [String]

    /// - Throws: When it cannot be read, or a line has no meaning.
    init(_ path: String) throws(UnreadableFile) {
        let file = try CSVRecords(path)
        missing = Self.required.filter { !file.columns.contains($0) }
        unknown = file.columns.filter { !Self.required.contains($0) }
        while let record = try file.next() {
            guard let folder = record["folder"], !folder.isEmpty,
                let digest = record["manifest_sha256"], digest.isDigest
            else { throw UnreadableFile("line \(file.lineNumber) names no folder and manifest") }
            lines.append(
                Line(
                    number: file.lineNumber, folder: folder, manifestDigest: digest,
                    fields: record.byColumn))
        }
    }

    /// The first column in which a line differs from the manifest of its run.
    static func otherColumn(_ line: Line, _ manifest: ManifestRecord) -> String? {
        if !line.manifestDigest.isSame(as: manifest.digest) { return "manifest_sha256" }
        return line.fields.keys.sorted().first { column in
            guard !own.contains(column), required.contains(column) else { return false }
            let said = line.fields[column] ?? ""
            guard column != "scope" else { return !says(said, scope: manifest.record["scope"]) }
            let value = value(at: places[column] ?? [column], in: manifest.record)
            return !CSVField.agrees(said, with: value)
        }
    }

    /// Whether a field names every narrowing of a run; it is empty when there is none.
    private static func says(_ field: String, scope: JSONValue?) -> Bool {
        guard let scope, !scope.isNull else { return field.isEmpty }
        let text = scope.elements.compactMap(\.text).joined(separator: "; ")
        return CSVField.agrees(field, withText: text)
    }

    private static func value(at place: [String], in record: JSONRecord) -> JSONValue? {
        guard let first = place.first, let value = record[first] else { return nil }
        guard place.count > 1 else { return value }
        return JSONRecord(value).flatMap { self.value(at: Array(place.dropFirst()), in: $0) }
    }
}
