import Foundation
import Testing

/// No input may end the process.
///
/// What traps is listed here, file by file, with why no data reaches it. Whoever needs another adds
/// it with its reason, or better throws.
@Suite struct `What traps` {
    /// `sign`: a text that every line with such a trap has; a search for it is quicker than the pattern.
    private static var patterns: [(name: String, sign: String, pattern: Regex<Substring>)] {
        [
            ("precondition", "precondition", /\bprecondition(?:Failure)?\(/),
            ("fatalError", "fatalError", /\bfatalError\(/), ("try!", "!", /\btry!/),
            ("as!", "!", /\bas!/),
            ("unsafelyUnwrapped", "unsafelyUnwrapped", /\bunsafelyUnwrapped\b/),
            ("uniqueKeysWithValues", "uniqueKeysWithValues", /\buniqueKeysWithValues\b/),
            ("abs", "abs(", /\babs\(/),
            ("forced", "!", /[A-Za-z0-9_\)\]]!(?=[\s\.,\)\]\[]|$)/),
        ]
    }

    /// File: how many of each, and why data does not reach them.
    private static let allowed: [String: (counts: [String: Int], why: String)] = [
        "JSONWebSignature/Certificates/CertificateChain.swift": (
            ["precondition": 1], "the policy before it accepts paths of three certificates only"
        ),
        "HTTPTransport/Curl/CurlHandles.swift": (
            ["precondition": 1], "libcurl hands back the pointer that was given to it"
        ),
        "HTTPTransport/Pacing/TokenBucket.swift": (
            ["precondition": 2],
            "settings refuse a rate of nothing, and at least one call an hour is computed from it"
        ),
        "AppStoreServerAPI/Requests/PacedRequests.swift": (["precondition": 1], "a constant"),
        "AppStoreServerAPI/Requests/QuotaRates.swift": (
            ["precondition": 1], "settings refuse a rate of nothing"
        ),
        "AppStoreServerAPI/Requests/ClockSkew.swift": (
            ["abs": 3], "the one number without a positive is asked for before"
        ),
        "Reports/Renderings/SummaryJSON.swift": (
            ["uniqueKeysWithValues": 1], "one key for each case of an enum"
        ),
        "SubscriptionStore/Pass/PassOpening.swift": (["abs": 2], "SQL"),
        "trueup/Commands/Export.swift": (
            ["uniqueKeysWithValues": 1], "the columns of a table have different names"
        ),
        "trueup/Doctor/AppleChecks.swift": (
            ["precondition": 2, "abs": 4], "constants; an HTTP date has a year of 9999 at most"
        ),
        "Reconciliation/Causes/ValuePattern.swift": (
            ["abs": 6], "differences of two positive times, and of what is left of them"
        ),
        "Reconciliation/Rules/Periods/PriceRule.swift": (
            ["abs": 1], "the one number without a positive is asked for before"
        ),
        "Reconciliation/Safety/OwnFaultGuard.swift": (
            ["abs": 2], "quarters of an hour within a day"
        ),
    ]

    @Test func `is listed with its reason`() throws {
        let patterns = Self.patterns
        let signs = Set(patterns.map(\.sign))
        for file in Repository.swiftFiles(under: "Sources") {
            let name = String(file.dropFirst("Sources/".count))
            // The simulator is a tool of tests: it may stop over its own scenario.
            guard !name.hasPrefix("AppStoreSimulation/"), !name.hasPrefix("appstore-simulator/")
            else { continue }
            let code = try Repository.text(of: file).components(separatedBy: "\n")
                .filter { line in
                    signs.contains { line.contains($0) }
                        && !line.trimmingCharacters(in: .whitespaces).hasPrefix("//")
                }
                .map { $0.replacing(/"(?:[^"\\]|\\.)*"/, with: "") }
                .joined(separator: "\n")
            for (trap, _, pattern) in patterns {
                let found = code.matches(of: pattern).count
                let allowed = Self.allowed[name]?.counts[trap] ?? 0
                #expect(found <= allowed, "\(name) has \(found) \(trap), \(allowed) are listed")
            }
        }
    }
}
