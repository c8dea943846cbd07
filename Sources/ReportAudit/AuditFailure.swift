/// Why nothing could be audited at all.
package enum AuditFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The path is no folder that can be read, or holds no report.
    case noReport(String)
    /// A root that was given is no certificate.
    case certificate(String)
    /// An anchor that was given is no digest.
    case anchor(String)

    package var description: String {
        switch self {
        case .noReport(let text), .certificate(let text), .anchor(let text): text
        }
    }
}
