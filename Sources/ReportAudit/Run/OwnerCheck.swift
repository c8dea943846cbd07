import JSONWebSignature
import Subscriptions

/// Checks `unowned.csv` against the findings about changed tokens, which rest on signed payloads, and
/// against the counts in `summary.json`.
///
/// Which row has no token or no customer, and what speaks for a customer, only the company's tables show.
struct UnownedCheck {
    static let name = "unowned.csv"
    private static let changed = "token_changed"
    private static let key = ["app", "environment", "original_transaction_id"]
    /// Columns of a changed token, with the members of the finding that say the same.
    private static let shared = [
        ("app_account_token", "local_value"), ("apple_account_token", "apple_value"),
        ("evidence", "evidence"), ("customer_id", "customer_id"),
    ]

    let run: RunFolder
    let problems: RunProblems

    /// - Parameter hasChangedTokens: Whether the run's findings tell of any.
    /// - Throws: What reading the files throws.
    func check(hasChangedTokens: Bool) throws(UnreadableFile) {
        let summary = try SummaryCheck.summary(in: run.path)
        let stated = summary?.record("unowned")
        guard run.manifest.lists(Self.name) else {
            if stated != nil { problems.add(Self.name, "summary.json counts what it lists") }
            return
        }
        if stated == nil, summary?.states("control_totals") ?? false {
            problems.add(SummaryCheck.name, "it lacks the counts of \(Self.name)")
        }
        let counted = try checkLines(isListed: stated != nil, hasChangedTokens)
        guard let stated else { return }
        for reason in Set(stated.names).union(counted.keys).sorted()
        where stated.integer(reason) != Int64(counted[reason] ?? 0) {
            problems.add(
                SummaryCheck.name,
                "its unowned.\(reason) is \(stated.integer(reason).map(String.init) ?? "missing"), "
                    + "\(Self.name) has \(counted[reason] ?? 0)")
        }
    }

    /// Returns how many purchases there are by reason; the lines of one are adjacent.
    private func checkLines(
        isListed: Bool, _ hasChangedTokens: Bool
    ) throws(UnreadableFile) -> [String: Int] {
        let file = try CSVRecords(run.file(Self.name))
        let tokens = hasChangedTokens && isListed ? try ChangedTokens(run) : nil
        var counts: [String: Int] = [:]
        var last: [String?] = []
        while let record = try file.next() {
            let reason = record["reason"] ?? "?"
            let purchase =
                Self.key.map { record[$0] } + [record["transaction_id"], record["reason"]]
            let isSame = zip(purchase, last).allSatisfy { $0?.isSame(as: $1) ?? ($1 == nil) }
            if last.isEmpty || !isSame {
                counts[reason, default: 0] += 1
                if reason == Self.changed { try tokens?.move(to: record, report: lacks) }
            }
            last = purchase
            for problem in problemsOf(record, reason, tokens?.finding) {
                problems.add(Self.name, line: file.lineNumber, problem)
            }
        }
        try tokens?.finish(report: lacks)
        return counts
    }

    private func lacks(_ line: Int) {
        problems.add(
            Self.name, "it lacks the changed token of line \(line) of \(FindingCheck.name)")
    }

    private func problemsOf(
        _ record: CSVRecord, _ reason: String, _ finding: JSONRecord?
    ) -> [String] {
        var found: [String] = []
        if !run.manifest.runID.isSame(as: record["run_id"]) {
            found.append("it is a row of another run")
        }
        switch reason {
        case Self.changed:
            guard let finding else {
                return found + ["no finding of \(FindingCheck.name) says that its token changed"]
            }
            for (column, member) in Self.shared
            where !(record[column] ?? "").agrees(with: finding[member]) {
                found.append("its \(column) is not the \(member) of its finding")
            }
        case "no_token" where record["app_account_token"]?.isEmpty == false:
            found.append("its reason is no_token, and it has one")
        case "no_customer" where record["customer_id"]?.isEmpty == false:
            found.append("its reason is no_customer, and it has one")
        default: break
        }
        return found
    }

    /// The findings about changed tokens, read side by side with the lines: both are sorted alike.
    private final class ChangedTokens {
        private let lines: LineFile
        /// The finding that was read last, and whether a line is about it.
        private var ahead: (record: JSONRecord, key: [String], line: Int)?
        /// The finding of the line that was moved to; `nil` where there is none.
        private(set) var finding: JSONRecord?

        init(_ run: RunFolder) throws(UnreadableFile) {
            lines = try LineFile(run.file(FindingCheck.name))
            ahead = try next()
        }

        private func next() throws(UnreadableFile) -> (JSONRecord, [String], Int)? {
            while let line = try lines.next() {
                guard let record = JSONRecord(line), record.text("kind") == "identity",
                    record.states("original_transaction_id")
                else { continue }
                return (record, UnownedCheck.key.map { record.text($0) ?? "" }, lines.lineNumber)
            }
            return nil
        }

        /// Moves on to the finding of a line.
        func move(to record: CSVRecord, report: (Int) -> Void) throws(UnreadableFile) {
            finding = nil
            let key = UnownedCheck.key.map { record[$0] ?? "" }
            while let found = ahead {
                if zip(found.key, key).allSatisfy({ $0.isSame(as: $1) }) {
                    finding = found.record
                    ahead = try next()
                    return
                }
                guard Self.precedes(found.key, key) else { return }
                report(found.line)
                ahead = try next()
            }
        }

        /// Names the findings that no line is about.
        func finish(report: (Int) -> Void) throws(UnreadableFile) {
            while let found = ahead {
                report(found.line)
                ahead = try next()
            }
        }

        private static func precedes(_ left: [String], _ right: [String]) -> Bool {
            for (left, right) in zip(left, right) where !left.isSame(as: right) {
                return left.utf8.lexicographicallyPrecedes(right.utf8)
            }
            return false
        }
    }
}

/// Checks that the lines of `entitlements.csv` agree with themselves.
///
/// They follow from rows of which a report shows only what was corrected, so nothing in a folder proves
/// them.
struct EntitlementCheck {
    static let name = "entitlements.csv"
    private static let key = ["app", "environment", "customer_id", "entitlement"]

    let run: RunFolder
    let problems: RunProblems

    /// - Throws: What reading the file throws.
    func check() throws(UnreadableFile) {
        let file = try CSVRecords(run.file(Self.name))
        var last: [String] = []
        while let record = try file.next() {
            let report = { (text: String) in
                problems.add(Self.name, line: file.lineNumber, text)
            }
            if !run.manifest.runID.isSame(as: record["run_id"]) {
                report("it is a row of another run")
            }
            let key = Self.key.map { record[$0] ?? "" }
            if zip(key, last).allSatisfy({ $0.isSame(as: $1) }), !last.isEmpty {
                report("it repeats the entitlement of the line before")
            }
            last = key
            if let problem = Self.problem(of: record) { report(problem) }
        }
    }

    private static func problem(of record: CSVRecord) -> String? {
        /// Empty is for life. A time that Apple signed beyond the year 9999, or before 0, is written
        /// with a sign; it is after, or before, all others.
        func end(_ column: String) -> Int64? {
            guard let text = record[column], !text.isEmpty else { return .max }
            guard let sign = text.first, sign == "+" || sign == "-" else {
                return Timestamp(rfc3339: text)?.unixMilliseconds
            }
            guard text.wholeMatch(of: /.[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/) != nil else {
                return nil
            }
            return sign == "+" ? .max - 1 : .min
        }
        guard let before = end("expires_date_before"), let after = end("expires_date") else {
            return "one of its dates is not a time"
        }
        // How two such times differ is not compared.
        let areSigned = before == after && (before == .max - 1 || before == .min)
        let change =
            switch record["change"] {
            case "longer" where areSigned, "shorter" where areSigned: true
            case "new": record["expires_date_before"]?.isEmpty == true
            case "longer": before < after
            case "shorter": before > after
            case "same": before == after
            default: false
            }
        return change ? nil : "its change does not fit its dates"
    }
}
