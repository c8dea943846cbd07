import Foundation

/// A regular expression of a fault plan, compiled once.
struct TextPattern: Sendable {
    private let expression: NSRegularExpression

    init(_ text: String, key: String) throws(SimulatorError) {
        do {
            expression = try NSRegularExpression(pattern: text)
        } catch {
            throw .badOption("\"\(key)\" is not a regular expression: \(text)")
        }
    }

    /// Whether it occurs anywhere in a text.
    func matches(_ text: String) -> Bool {
        let range = NSRange(text.startIndex..., in: text)
        return expression.firstMatch(in: text, range: range) != nil
    }
}
