import Subscriptions

/// What to say about a column that there is not.
enum ColumnSuggestion {
    static func unknown(_ name: String, among names: [String]) -> String {
        let quoted = BadField.quoted(name.utf8)
        if let nearest = NearestName.suggestion(for: name, among: names) {
            return "unknown column \(quoted); did you mean \"\(nearest)\"?"
        }
        return "unknown column \(quoted); known are \(names.joined(separator: ", "))"
    }
}
