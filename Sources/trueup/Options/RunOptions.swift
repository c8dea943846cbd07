package import ArgumentParser
package import ReconciliationRun
package import Subscriptions

/// What `run` and `check` take beside the common options.
package struct RunOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The job: jobs/JOB.yaml beside the settings, or a path.", valueName: "job"),
        completion: .jobs)
    package var job: String

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only these kinds of findings are reported and corrected, separated by commas.",
            valueName: "kind,…"))
    package var only: String?

    @Option(
        name: .customLong("ids-file"),
        help: ArgumentHelp(
            "Only these original transaction ids, one a line.", valueName: "file"),
        completion: .file())
    package var idsFile: String?

    @Option(name: .long, help: ArgumentHelp("At most this many rows.", valueName: "n"))
    package var limit: Int?

    @Option(
        name: .long,
        help: ArgumentHelp("Only part K of N equal parts of the rows.", valueName: "k/n"))
    package var shard: ShardOption?

    @OptionGroup package var scope: AppScope

    @Option(
        name: .customLong("max-duration"),
        help: ArgumentHelp("Instead of the job's max_duration, such as 90m.", valueName: "d"))
    package var maxDuration: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Rehearse as if it were this time (RFC 3339); for loopback endpoints only.",
            valueName: "time"))
    package var now: TimeOption?

    package init() {}

    package func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit takes a number from 1.") }
        _ = try onlyKinds()
        _ = try maxDurationMilliseconds()
    }

    /// The kinds of `--only`; `nil` for all.
    func onlyKinds() throws -> Set<FindingKind>? {
        guard let only else { return nil }
        let names = only.split(separator: ",").map { String($0.filter { $0 != " " }) }
        guard !names.isEmpty else { throw ValidationError("--only names no kind.") }
        return Set(
            try names.map { name in
                guard let kind = FindingKind(rawValue: name) else {
                    let all = FindingKind.allCases.map(\.rawValue)
                    let hint =
                        NearestName.suggestion(for: name, among: all)
                        .map { "; did you mean \"\($0)\"?" } ?? ""
                    throw ValidationError("--only: no finding has the kind \"\(name)\"\(hint)")
                }
                return kind
            })
    }

    func maxDurationMilliseconds() throws -> Int64? {
        guard let maxDuration else { return nil }
        guard let milliseconds = DurationText(maxDuration)?.milliseconds, milliseconds > 0 else {
            throw ValidationError("--max-duration takes a time such as 45s, 90m, 4h or 1d.")
        }
        return milliseconds
    }

    /// What was given of these options, to be given again.
    var words: [String] {
        var words = [job]
        if let only { words += ["--only", only] }
        if let idsFile { words += ["--ids-file", idsFile] }
        if let limit { words += ["--limit", String(limit)] }
        if let shard { words += ["--shard", shard.shard.text] }
        words += scope.words
        if let maxDuration { words += ["--max-duration", maxDuration] }
        if let now { words += ["--now", now.timestamp.rfc3339] }
        return words
    }

    /// Every narrowing in words, for the report: what leaves rows or findings out.
    ///
    /// `--now` and `--max-duration` are none: such a run looks at everything that the job names, and
    /// another one goes on where it stopped.
    package var narrowingInWords: [String] {
        var words: [String] = []
        if let only { words.append("only \(only)") }
        if let idsFile { words.append("ids-file \(idsFile)") }
        if let limit { words.append("limit \(limit)") }
        if let shard { words.append("shard \(shard.shard.text)") }
        return words
    }
}

extension CompletionKind {
    /// The jobs in the folder where one types; elsewhere nothing is offered.
    static var jobs: CompletionKind {
        .shellCommand(#"ls jobs 2>/dev/null | sed -n 's/\.yaml$//p'"#)
    }
}

/// `K/N` of `--shard` and `--app-shard`.
package struct ShardOption: ExpressibleByArgument, Hashable, Sendable {
    package let shard: Narrowing.Shard

    package init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int(parts[0]), let count = Int(parts[1]),
            count >= 1, (1...count).contains(number)
        else { return nil }
        shard = Narrowing.Shard(number: number, count: count)
    }
}

/// A time of the command line, in RFC 3339.
package struct TimeOption: ExpressibleByArgument, Hashable, Sendable {
    package let timestamp: Timestamp

    package init?(argument: String) {
        guard let timestamp = Timestamp(rfc3339: argument) else { return nil }
        self.timestamp = timestamp
    }
}
