import Subscriptions

/// The identity of a finding over the nights.
enum FindingIdentity {
    /// The first 24 hexadecimal digits of SHA-256 over what the finding is about.
    static func of(_ finding: Finding) -> String {
        let parts = [
            finding.kind.rawValue, finding.bundleID, finding.environment,
            finding.key?.originalTransactionID ?? "", finding.field ?? "",
        ]
        return String(Hexadecimal.sha256(of: parts.joined(separator: "\u{1F}").utf8).prefix(24))
    }
}
