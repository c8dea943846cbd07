import Subscriptions

/// What to say about a column that there is not.
enum ColumnSuggestion {
    static func unknown(
        _ name: String, among names: [String], called what: String = "column"
    ) -> String {
        let quoted = BadField.quoted(name.utf8)
        if let nearest = NearestName.suggestion(for: name, among: names) {
            return "unknown \(what) \(quoted); did you mean \"\(nearest)\"?"
        }
        return "unknown \(what) \(quoted); known are \(names.joined(separator: ", "))"
    }
}
