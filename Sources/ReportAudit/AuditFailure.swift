/// Why nothing could be audited at all.
package enum AuditFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The path is no folder that can be read, or holds no report.
    case noReport(String)
    /// A root certificate or an anchor that was given cannot be used.
    case unusable(String)

    package var description: String {
        switch self {
        case .noReport(let text), .unusable(let text): text
        }
    }
}
