/// What a run was expected to need, found before its first call; the report holds it against what the
/// run did need.
package struct CallForecast: Hashable, Sendable, Codable {
    /// Rows to be asked about.
    package var questions: Int
    /// Expected calls by endpoint, over all apps; an endpoint of which nothing tells is left out.
    package var calls: [String: Int]
    /// `nil` where nothing tells.
    package var milliseconds: Int64?

    package init(questions: Int, calls: [String: Int], milliseconds: Int64?) {
        self.questions = questions
        self.calls = calls
        self.milliseconds = milliseconds
    }
}
