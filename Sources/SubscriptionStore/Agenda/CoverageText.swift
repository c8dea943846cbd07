import Foundation
import Subscriptions

/// What a run covered, as it is stored with the run.
enum CoverageText {
    static func encode(_ coverage: RunCoverage?) throws -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try coverage.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
    }

    /// `nil` for runs of versions that did not count it.
    static func decode(_ text: String?) throws -> RunCoverage? {
        try text.map { try JSONDecoder().decode(RunCoverage.self, from: Data($0.utf8)) }
    }
}
