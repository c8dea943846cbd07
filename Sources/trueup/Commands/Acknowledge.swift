import ArgumentParser
import SubscriptionStore
import Subscriptions

/// `trueup acknowledge FINDING`: a finding that stays true and is known.
struct Acknowledge: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Accept a finding that is known, so that it no longer fails the runs.",
        discussion: """
            The finding stays in every report as acknowledged, with the reason and who gave it. It does \
            not count for fail_on until it changes, the date passes, or --undo withdraws the \
            acknowledgement. A ledger of its own keeps every decision. discrepancies.csv has the ids of \
            all findings; the beginning of an id is enough.
            """)

    @Argument(help: ArgumentHelp("The finding_id, or its beginning.", valueName: "finding"))
    var finding: String

    @Option(help: ArgumentHelp("Why the finding may stay as it is.", valueName: "text"))
    var reason: String?

    @Option(
        help: ArgumentHelp(
            "The last day (UTC) or the time (RFC 3339) of the acknowledgement (default: no end).",
            valueName: "date"))
    var until: UntilOption?

    @Flag(help: "Withdraw the acknowledgement; the finding counts again.")
    var undo = false

    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database], [.ok: "the decision is recorded"])

    func validate() throws {
        try refuse(
            if: finding.isEmpty || finding.utf8.count > 24 || !finding.allSatisfy(\.isHexDigit),
            "\"\(finding)\" is not a finding_id. An id has up to 24 hexadecimal digits; "
                + "discrepancies.csv has them.")
        let isSaid = reason?.contains { !$0.isWhitespace } == true
        try refuse(
            if: !isSaid && !(undo && reason == nil),
            "Give --reason TEXT: why the finding may stay as it is.")
        try refuse(
            if: undo && until != nil, "--undo ends an acknowledgement now; leave --until out.")
    }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let now = invocation.now()
        if let until, until.end <= now {
            throw CommandFailure(
                .usage, "--until \(until.text) has passed. Nothing was changed. Give a later date.")
        }
        guard !dry.dryRun else {
            let store = try Books(settings).openToRead(at: now)
            return try await showDryRun(try await known(in: store), in: invocation)
        }
        let books = try Books(settings, holder: RunningUser.lockHolder(doing: "acknowledge"))
        defer { books.releaseUnlessRunGoesOn() }
        try books.bringUpToDate(at: now, waitMilliseconds: invocation.lockPatienceMilliseconds)
        let store = try books.openToWrite()
        let known = try await known(in: store)
        try requireDecidable(known)
        let decision: Decision
        if undo {
            decision = try await store.withdrawAcknowledgement(
                of: known.findingID, reason: reason ?? "", by: RunningUser.actor, at: now)
        } else {
            decision = try await store.acknowledge(
                known.findingID, reason: reason ?? "", until: until?.end,
                by: RunningUser.actor, at: now)
        }
        try show(known, decision, in: invocation)
        return .ok
    }

    /// Throws where the finding's state leaves nothing to decide.
    private func requireDecidable(_ known: RememberedFinding) throws(CommandFailure) {
        if undo, known.state != .acknowledged {
            throw CommandFailure(
                .usage,
                "The finding \(known.findingID) is \(known.stateName), not acknowledged. Nothing was "
                    + "changed.")
        }
        if !undo, !known.isOpen {
            throw CommandFailure(
                .usage,
                "The finding \(known.findingID) is \(known.stateName), so there is nothing to "
                    + "acknowledge. Nothing was changed.")
        }
    }

    /// Says what would be decided.
    private func showDryRun(
        _ known: RememberedFinding, in invocation: Invocation
    ) async throws -> ExitStatus {
        try requireDecidable(known)
        let action = undo ? "withdraw" : "acknowledge"
        return try dry.show(
            .object([
                "action": .string(action), "finding_id": .string(known.findingID),
                "kind": .string(known.kind), "reason": .string(reason ?? ""),
                "until": .time(until?.end),
            ]),
            undo
                ? "\(words(known)) would no longer be acknowledged."
                : "\(words(known)) would be acknowledged\(until.map { ", until \($0.end.rfc3339)" } ?? "").",
            common, in: invocation)
    }

    private func words(_ known: RememberedFinding) -> String {
        "\(known.findingID) (\(known.kind)"
            + (known.originalTransactionID.map { " of " + PlainText.of($0) } ?? "") + ")"
    }

    private func known(in store: SQLiteStore) async throws -> RememberedFinding {
        switch try await store.finding(beginningWith: finding.lowercased()) {
        case .one(let known): return known
        case .none:
            throw CommandFailure(
                .usage,
                "This database has no finding \(finding). Nothing was changed. discrepancies.csv of "
                    + "the newest report has all of them.")
        case .several(let ids):
            throw CommandFailure(
                .usage,
                "Several findings begin with \(finding): \(ids.joined(separator: ", ")). Nothing was "
                    + "changed. Give more of the id.")
        }
    }

    private func show(
        _ known: RememberedFinding, _ decision: Decision, in invocation: Invocation
    ) throws {
        let what = words(known)
        let end = decision.until.map { ", until \($0.rfc3339)" } ?? ""
        try common.show(
            .object([
                "action": .string(decision.action.rawValue), "by": .string(decision.actor),
                "decided_at": .time(decision.decidedAt), "decision": .integer(decision.number),
                "finding_id": .string(decision.findingID), "hash": .string(decision.hash),
                "kind": .string(known.kind), "reason": .string(decision.reason),
                "until": .time(decision.until),
            ]),
            [
                decision.action == .acknowledge
                    ? "Acknowledged \(what)\(end). The next runs report it and do not fail because of "
                        + "it (decision \(decision.number))."
                    : "No longer acknowledged: \(what). It counts again from the next run on "
                        + "(decision \(decision.number))."
            ], in: invocation)
    }
}

/// The end of an acknowledgement: a day, which is included, or a time.
struct UntilOption: ExpressibleByArgument, Hashable, Sendable {
    let text: String
    /// From then on it no longer counts.
    let end: Timestamp

    init?(argument: String) {
        let endOfDay = Timestamp(rfc3339: argument + "T00:00:00Z")?
            .adding(milliseconds: Milliseconds.perDay)
        guard let end = endOfDay ?? Timestamp(rfc3339: argument) else { return nil }
        text = argument
        self.end = end
    }
}
