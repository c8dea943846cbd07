import Subscriptions

/// What columns of a file mean that do not have our names: the company's names, as `--map` and
/// `--ignore` give them.
package struct ColumnMapping: Hashable, Sendable {
    /// Our column for a name of the file; `nil` for one that is not read.
    private let ours: [String: String?]

    /// - Parameter ours: our column for a name of the file; `nil` for one that is not read.
    package init(_ ours: [String: String?] = [:]) {
        self.ours = ours
    }

    var isEmpty: Bool { ours.isEmpty }

    enum Meaning {
        /// The place of a column in the schema.
        case column(Int)
        case ignored
        case unknown
    }

    func names(_ name: String) -> Bool { ours[name] != nil }

    func meaning(of name: String, among columnNames: [String]) -> Meaning {
        let wanted: String
        switch ours[name] {
        case .some(.none): return .ignored
        case .some(.some(let column)): wanted = column
        case .none: wanted = name
        }
        return columnNames.firstIndex(of: wanted).map(Meaning.column) ?? .unknown
    }

    /// What to say where the file lacks a name that the mapping has: it is a slip, and the column that
    /// was meant would be left out or refused.
    func absence(among names: [String], called what: String) -> String? {
        let present = Set(names)
        guard let absent = ours.keys.filter({ !present.contains($0) }).min() else { return nil }
        let nearest = NearestName.suggestion(
            for: absent, among: names.filter { !self.names($0) })
        return "has no \(what) \(BadField.quoted(absent.utf8)), which --map or --ignore names"
            + (nearest.map { "; did you mean \(BadField.quoted($0.utf8))?" } ?? "")
    }
}
