package import Subscriptions

/// The differences between the findings of two runs: for people one line each, for machines one
/// object each.
package struct FindingDifferences: Sendable {
    /// The change of a finding from one run to the next.
    package enum Change: String, Hashable, Sendable, CaseIterable {
        /// Only the later run lists it.
        case new
        /// Only the earlier run lists it.
        case gone
        /// Both list it, and say different things.
        case changed
        case alike
    }

    private let before: RunSummary
    private let after: RunSummary
    private var counts: [Change: Int] = [:]

    /// - Parameters:
    ///   - before: The earlier run.
    ///   - after: The later run.
    package init(from before: RunSummary, to after: RunSummary) {
        self.before = before
        self.after = after
    }

    /// Counts one finding.
    ///
    /// - Parameters:
    ///   - before: As the earlier run reports it; `nil` where it does not.
    ///   - after: As the later run reports it; `nil` where it does not.
    /// - Returns: What differs; `nil` where nothing does.
    package mutating func add(
        _ before: ReportedFinding?, _ after: ReportedFinding?
    ) -> FindingDifference? {
        let difference = FindingDifference(before: before, after: after)
        counts[difference.change, default: 0] += 1
        return difference.change == .alike ? nil : difference
    }

    private func count(_ changes: Change...) -> Int {
        changes.reduce(0) { $0 + (counts[$1] ?? 0) }
    }

    /// The totals, which tie out to both reports, and what keeps a missing finding from being a resolved one.
    package var lines: [String] {
        let totals =
            "\(count(.new)) new, \(count(.gone)) gone, \(count(.changed)) changed, "
            + "\(count(.alike)) alike."
        return [
            "Findings of run \(before.header.runID) (\(before.header.mode.rawValue) \(before.header.job)): "
                + "\(count(.gone, .changed, .alike)). Of run \(after.header.runID) (\(after.header.mode.rawValue) "
                + "\(after.header.job)): \(count(.new, .changed, .alike)).", totals,
        ] + [before, after].compactMap(\.partNotice) + [noticeOfTwoJobs].compactMap(\.self)
    }

    /// Each job keeps the findings that it has found open.
    private var noticeOfTwoJobs: String? {
        guard before.header.job != after.header.job else { return nil }
        return
            "The runs belong to two jobs: a finding that one of them found may be open and not be listed by the "
            + "other."
    }

    /// The differences for machines.
    package var json: CanonicalJSON {
        .object([
            "change": .string("totals"), "from": .string(before.header.runID),
            "to": .string(after.header.runID),
            "new": .integer(count(.new)), "gone": .integer(count(.gone)),
            "changed": .integer(count(.changed)), "alike": .integer(count(.alike)),
            "from_checks_all": .boolean(before.partNotice == nil),
            "to_checks_all": .boolean(after.partNotice == nil),
        ])
    }
}

/// One finding in two runs.
package struct FindingDifference: Sendable {
    package let change: FindingDifferences.Change
    private let before: ReportedFinding?
    private let after: ReportedFinding?
    /// The members that differ, by their names in a report.
    private let members: [(name: String, before: String, after: String)]

    init(before: ReportedFinding?, after: ReportedFinding?) {
        self.before = before
        self.after = after
        members = Self.differences(before, after)
        change =
            switch (before, after) {
            case (nil, _): .new
            case (_, nil): .gone
            default: members.isEmpty ? .alike : .changed
            }
    }

    /// A finding is new in one run only; whether it was new or open before says nothing about it.
    private static func differences(
        _ before: ReportedFinding?, _ after: ReportedFinding?
    ) -> [(name: String, before: String, after: String)] {
        guard let before, let after else { return [] }
        let values: [(String, (ReportedFinding) -> String?)] = [
            ("severity", { $0.finding.severity.rawValue }),
            ("state", { $0.state == .new ? FindingState.open.rawValue : $0.state.rawValue }),
            ("local_value", { $0.finding.localValue.json.rendered }),
            ("apple_value", { $0.finding.appleValue.json.rendered }),
            ("direction", { $0.finding.direction.rawValue }),
            ("amount", { $0.finding.amount.map { String($0) } }),
            ("currency", { $0.finding.currency }),
            ("action", { $0.finding.action.rawValue }),
        ]
        return values.compactMap { name, value in
            let (old, new) = (value(before) ?? "null", value(after) ?? "null")
            return old == new ? nil : (name, old, new)
        }
    }

    /// `+ high access_unpaid 420001000000000 status 1 against Apple's 2`, safe on a terminal.
    package var line: String {
        guard let shown = after ?? before else { return "" }
        let sign =
            switch change {
            case .new: "+"
            case .gone: "-"
            case .changed, .alike: "~"
            }
        let finding = shown.finding
        var line = "\(sign) \(finding.severity.rawValue) \(finding.kind.rawValue)"
        line += " " + (finding.key?.originalTransactionID ?? finding.bundleID)
        if let field = finding.field { line += " " + field }
        if change == .changed {
            line +=
                ": "
                + members.map { "\($0.name) \($0.before) → \($0.after)" }.joined(separator: ", ")
        } else {
            line +=
                ": \(finding.localValue.json.rendered), Apple "
                + finding.appleValue.json.rendered
            if change == .gone { line += " (\(shown.state.rawValue))" }
        }
        return (line + "; \(shown.findingID)").onOneLine
    }

    /// One line of JSON: `change`, the names that differ, and the finding as each run reports it.
    package func appendJSON(to bytes: inout [UInt8]) {
        func append(_ finding: ReportedFinding?) {
            guard let finding else {
                bytes += "null".utf8
                return
            }
            Table.findings.appendJSON(finding, to: &bytes)
            // The line feed of a line of its own.
            if bytes.last == 0x0A { bytes.removeLast() }
        }
        bytes += #"{"after":"#.utf8
        append(after)
        bytes += #","before":"#.utf8
        append(before)
        bytes += #","change":"\#(change.rawValue)","differs":"#.utf8
        CanonicalJSON.array(members.map { .string($0.name) }).append(to: &bytes)
        bytes += "}".utf8
    }
}

extension RunSummary {
    /// The reason why a finding that the run does not list may still be open; `nil` where the run
    /// checks every row that its job has.
    fileprivate var partNotice: String? {
        if !header.filters.isEmpty {
            return
                "Run \(header.runID) left out rows (\(header.filters.joined(separator: "; "))): a finding that it does "
                + "not list may still be open."
        }
        guard !judgesNothing else {
            return
                "Run \(header.runID) applied a plan or reverted a run, and checked no row itself: a finding that it "
                + "does not list may still be open."
        }
        // Only a run that walks the rows counts the table against what it lists.
        guard control == nil else { return nil }
        return
            "Run \(header.runID) did not walk the rows: a finding that it does not list may still be open."
    }
}
