/// What became of one line of a file that is being loaded.
package enum LineOutcome: Hashable, Sendable {
    case accepted
    /// The file holds this key already; the first line counts.
    case duplicateKey
}
