import Foundation
import Testing

/// A file of the repository that is made from the declared settings.
///
/// With `TRUEUP_WRITE_FILES=1` in the environment it is written instead of compared.
struct CheckedInFile {
    /// Seen from the root of the repository.
    let path: String
    let expected: String

    private var fullPath: String {
        // …/Tests/trueupTests/Configuration/CheckedInFile.swift
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(4)
        return parts.joined(separator: "/") + "/" + path
    }

    /// What the file holds.
    func text() throws -> String { try String(contentsOfFile: fullPath, encoding: .utf8) }

    /// Reports every line that is missing or wrong.
    func compare(_ location: SourceLocation = #_sourceLocation) throws {
        if ProcessInfo.processInfo.environment["TRUEUP_WRITE_FILES"] == "1" {
            try Data(expected.utf8).write(to: URL(fileURLWithPath: fullPath))
            return
        }
        let found = (try? String(contentsOfFile: fullPath, encoding: .utf8)) ?? ""
        for problem in Self.problems(of: found, against: expected) {
            Issue.record("\(path):\(problem)", sourceLocation: location)
        }
    }

    /// For example `12: missing: | ... |`, by the line where it is, or has to be.
    static func problems(of found: String, against expected: String) -> [String] {
        let lines = { (text: String) in
            text.split(separator: "\n", omittingEmptySubsequences: false)
        }
        return lines(expected).difference(from: lines(found)).map { change in
            switch change {
            case .insert(let offset, let line, _): (offset, "\(offset + 1): missing: \(line)")
            case .remove(let offset, let line, _): (offset, "\(offset + 1): not declared: \(line)")
            }
        }.sorted { $0 < $1 }.map(\.1)
    }
}
