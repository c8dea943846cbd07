package import Subscriptions

/// A report that stands complete under its final name.
package struct FinishedReport: Hashable, Sendable {
    /// The run's folder.
    package var path: String
    /// What `summary.txt` holds.
    package var summaryText: String
    /// What the text was made from, for a rendering with colour.
    package var summary: RunSummary
    /// SHA-256 of `manifest.json`: the link of the chain that the next run continues.
    package var manifestDigest: String
}
