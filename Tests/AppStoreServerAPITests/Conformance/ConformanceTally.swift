import TestSupport

/// How many vectors passed, by the certificates that they use, and what did not.
struct ConformanceTally {
    private(set) var passed = 0
    private(set) var failures: [String] = []
    private var deviations: [String] = []
    private var passedByKeys: [String: Int] = [:]
    private var skipped: [String: Int] = [:]
    private var isVoid: [String] = []

    mutating func count(_ outcome: SignedDataVector.Outcome, of vector: ConformanceVector) {
        switch outcome {
        case .passed:
            passed += 1
            passedByKeys[vector.publicKeyInfrastructure, default: 0] += 1
        case .skipped(let why):
            skipped[why, default: 0] += 1
        case .wrongFields(let what), .refusedOrAcceptedWrongly(let what):
            note("\(vector.name) (\(vector.level)): \(what)", of: vector)
        }
    }

    /// Failures of level `must` fail the suite; others are findings to be listed.
    private mutating func note(_ line: String, of vector: ConformanceVector) {
        if vector.name.hasPrefix("baseline-") {
            isVoid.append("\(vector.text("kind") ?? "?")/\(vector.publicKeyInfrastructure)")
        }
        if vector.isRequired { failures.append(line) } else { deviations.append(line) }
    }

    func report(title: String) -> String {
        var lines = [
            "conformance \(title): \(passed) passed, \(failures.count) failed, "
                + "\(deviations.count) deviations, \(skipped.values.reduce(0, +)) skipped"
        ]
        for (keys, count) in passedByKeys.sorted(by: { $0.key < $1.key }) {
            lines.append("  \(keys): \(count) passed")
        }
        lines += skipped.sorted { $0.key < $1.key }.map { "  skipped \($0.value): \($0.key)" }
        lines += isVoid.map { "  VOID (canary failed): \($0)" }
        lines += deviations.map { "  deviation: \($0)" }
        return lines.joined(separator: "\n")
    }
}
