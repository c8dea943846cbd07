package import ArgumentParser
import SubscriptionStore
package import Subscriptions

/// `trueup acknowledge FINDING`: a finding that stays true and is known.
package struct Acknowledge: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Say that a finding is known, so that it no longer fails the nights.",
        discussion: """
            The finding stays in every report as acknowledged, with who said so and why. It does \
            not count for fail_on until it says something else than it said then, until the date \
            passes, or until --undo. Every decision is kept in a ledger of its own. \
            discrepancies.csv names every finding's id, report.html the beginnings of those of open \
            findings; the beginning of one is enough.
            """)

    @Argument(help: ArgumentHelp("The finding_id, or its beginning.", valueName: "finding"))
    package var finding: String

    @Option(help: ArgumentHelp("Why it may stay as it is.", valueName: "text"))
    package var reason: String?

    @Option(
        help: ArgumentHelp(
            "The last day (UTC), or the time in RFC 3339, until which it counts as known.",
            valueName: "date"))
    package var until: UntilOption?

    @Flag(help: "Take the acknowledgement back; the finding counts again.")
    package var undo = false

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func validate() throws {
        guard !finding.isEmpty, finding.utf8.count <= 24, finding.allSatisfy(\.isHexDigit) else {
            throw ValidationError(
                "\"\(finding)\" is no finding_id: it has up to 24 hexadecimal digits, as "
                    + "discrepancies.csv names it.")
        }
        let isSaid = reason?.contains { !$0.isWhitespace } == true
        guard isSaid || (undo && reason == nil) else {
            throw ValidationError("--reason TEXT says why it may stay as it is.")
        }
        if undo, until != nil {
            throw ValidationError("--until is for an acknowledgement; --undo ends one now.")
        }
    }

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let now = invocation.now()
        if let until, until.end <= now {
            throw CommandFailure(.usage, "--until \(until.text) has passed")
        }
        let books = try Books(settings, holder: RunningUser.lockHolder(doing: "acknowledge"))
        defer { books.releaseUnlessRunGoesOn() }
        try books.bringUpToDate(at: now, waitMilliseconds: invocation.lockPatienceMilliseconds)
        let store = try books.openToWrite()
        let known = try await known(in: store)
        let decision: Decision
        if undo {
            guard known.state == "acknowledged" else {
                throw CommandFailure(
                    .usage, "the finding \(known.findingID) is \(known.state), not acknowledged")
            }
            decision = try await store.withdrawAcknowledgement(
                of: known.findingID, reason: reason ?? "", by: RunningUser.actor, at: now)
        } else {
            guard !["corrected", "resolved"].contains(known.state) else {
                throw CommandFailure(
                    .usage,
                    "the finding \(known.findingID) is \(known.state): there is nothing to "
                        + "acknowledge")
            }
            decision = try await store.acknowledge(
                known.findingID, reason: reason ?? "", until: until?.end,
                by: RunningUser.actor, at: now)
        }
        try show(known, decision, in: invocation)
        return .ok
    }

    private func known(in store: SQLiteStore) async throws -> KnownFinding {
        switch try await store.finding(beginningWith: finding.lowercased()) {
        case .one(let known): return known
        case .none:
            throw CommandFailure(
                .usage,
                "there is no finding \(finding) in this database; discrepancies.csv of the newest "
                    + "report names them all")
        case .several(let ids):
            throw CommandFailure(
                .usage,
                "\(finding) is the beginning of several findings (\(ids.joined(separator: ", "))); "
                    + "give more of the id")
        }
    }

    private func show(
        _ known: KnownFinding, _ decision: Decision, in invocation: Invocation
    ) throws {
        guard common.json else {
            let what =
                "\(known.findingID) (\(known.kind.rawValue)"
                + (known.originalTransactionID.map { " of " + PlainText.of($0) } ?? "") + ")"
            let end = decision.until.map { ", until \($0.rfc3339)" } ?? ""
            return try invocation.show(
                decision.action == .acknowledge
                    ? "Acknowledged \(what)\(end): the next runs report it and do not fail by it "
                        + "(decision \(decision.number))."
                    : "No longer acknowledged: \(what) counts again from the next run on "
                        + "(decision \(decision.number)).")
        }
        try invocation.show(
            json: CanonicalJSON.object([
                "action": .string(decision.action.rawValue), "by": .string(decision.actor),
                "decided_at": .time(decision.decidedAt), "decision": .integer(decision.number),
                "finding_id": .string(decision.findingID), "hash": .string(decision.hash),
                "kind": .string(known.kind.rawValue), "reason": .string(decision.reason),
                "until": .time(decision.until),
            ]))
    }
}

/// The end of an acknowledgement: a day, which is included, or a time.
package struct UntilOption: ExpressibleByArgument, Hashable, Sendable {
    package let text: String
    /// From then on it no longer counts.
    package let end: Timestamp

    package init?(argument: String) {
        text = argument
        if let day = Timestamp(rfc3339: argument + "T00:00:00Z") {
            end = day.adding(milliseconds: Milliseconds.perDay)
        } else if let time = Timestamp(rfc3339: argument) {
            end = time
        } else {
            return nil
        }
    }
}
