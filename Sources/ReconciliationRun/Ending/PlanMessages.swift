import Reconciliation
import Subscriptions

/// The results of the guards and the canary, for the person on call.
extension ExitDecision {
    var planSentences: [String] {
        breachSentences + liftSentences + canarySentences + proposal
    }

    /// The commands that follow a check, for the person who read it.
    ///
    /// A plan keeps the limits of its guards, so what would stop this job would stop its plan as
    /// well.
    private var proposal: [String] {
        let guards = plan.breaches.map(\.name)
        guard mode == .check, firstFill == nil || guards.isEmpty, let seal = plan.seal,
            seal.changes > 0,
            let applying = commands.applying(seal, lifting: guards, because: reason)
        else { return [] }
        let shown =
            "Nothing is written yet. To see the plan: \(commands.command("show", "plan", runID)). "
        return [
            guards.isEmpty
                ? shown + "To apply exactly this plan: \(applying)"
                : shown + "If the plan is right, apply exactly this plan, once: \(applying) "
                    + "If you change the guards in the job file, check again: a plan keeps the limits "
                    + "under which it was made."
        ]
    }

    private var breachSentences: [String] {
        guard !plan.breaches.isEmpty else { return [] }
        guard mode == .apply else {
            return plan.breaches.map { "A guard would stop this job: \($0.named)" }
                + [firstFill, pastFirstFill].compactMap(\.self)
        }
        if let firstFill {
            return plan.breaches.map { "Stopped by \($0.named)" }
                + [firstFill + " No subscription row was changed.", pastFirstFill]
                .compactMap(\.self)
        }
        return plan.breaches.map { "Stopped by \($0.named)" } + [
            "No subscription row was changed. The plan is kept: \(commands.command("show", "plan", runID)) "
                + "lists it, and discrepancies.csv has each difference. If the plan is right, let it "
                + "through once: \(commands.lifting(plan.breaches.map(\.name), because: reason)) "
                + "(with --canary 20 it writes 20 rows first and asks Apple about them again). If it is "
                + "wrong, nothing has to be undone: the next run makes a new plan."
        ]
            + limitsOfThePlan
    }

    /// Whose limits stopped a plan that was made before; an undo has those of now.
    private var limitsOfThePlan: [String] {
        guard case .plan? = planned?.source else { return [] }
        return [
            "These are the limits under which the plan was made. If the job file has others now, make "
                + "a new plan under these: \(commands.newPlan)"
        ]
    }

    /// The reason that is proposed for the ledger; the person may write a better one.
    private var reason: String { "the plan of run \(runID) was read and is right" }

    /// Where most rows only gain values, guards that are sized for a run object rightly, and
    /// lifting them is the wrong way.
    private var firstFill: String? {
        guard isFirstFill else { return nil }
        let others =
            totals.discrepant > 0
            ? " That job also corrects what differs; read discrepancies.csv first, which has these rows."
            : ""
        return "\(totals.filled) of \(totals.inScope) rows only gain values that were empty: this "
            + "is a first fill. Use jobs/backfill.yaml, whose guards are sized for a first fill: "
            + "\(commands.command("estimate", "backfill")), then "
            + "\(commands.command("run", "backfill"))." + others
    }

    /// Of most rows in scope nothing is corrected and something filled, or of most rows that a plan
    /// of suspicious size would change.
    private var isFirstFill: Bool {
        if case .undo? = planned?.source { return false }
        return totals.filled > totals.inScope / 2
            || (totals.filled > changes / 2 && plan.breaches.contains(where: \.name.isAboutSize))
    }

    /// How to get past the guards of a first fill that do not object to its size: they hold in the
    /// job for it as well.
    private var pastFirstFill: String? {
        let others = plan.breaches.map(\.name).filter { !$0.isAboutSize }
        guard firstFill != nil, !others.isEmpty else { return nil }
        let names = others.map(\.rawValue).joined(separator: " and ")
        let command = commands.lifting(others, in: "backfill", because: reason)
        return
            "\(names) \(others.count == 1 ? "stops" : "stop") the plan for another reason than its "
            + "size, and would stop the job backfill as well. Find out why. If the plan is right: "
            + command
    }

    private var liftSentences: [String] {
        plan.lifts.map { lift in
            let name = lift.name.rawValue
            guard let breach = lift.breach else {
                return
                    "Lifting guard \(name) was not necessary: it did not stop this plan. Leave it "
                    + "out next time."
            }
            let who =
                lift.liftedBy == runID
                ? lift.actor : "\(lift.actor) for the killed run \(lift.liftedBy)"
            return "Guard \(name) was lifted once by \(who) (\(lift.reason)): \(breach)"
        }
    }

    private var canarySentences: [String] {
        switch plan.canary {
        case nil: []
        case .agrees(let subscriptions):
            [
                "The canary agreed: the run asked Apple again about \(subscriptions) corrected "
                    + "subscriptions before it wrote the rest."
            ]
        case .notBegun:
            [
                "The canary was not begun, because Apple could not have been asked again after it. "
                    + "No subscription row was changed. Run it again with --canary 20: "
                    + commands.again
            ]
        case .differs(let rows, let all):
            [
                "Stopped by guard canary: the run corrected \(all) subscriptions and asked Apple about "
                    + "them again. \(rows.count) of them still differ from Apple: "
                    + Self.list(rows) + ".",
                "Nothing more was written; plan.json has the rest. Find out what else writes to these "
                    + "rows (a trigger, a service, a stale cache) before the next run of this job "
                    + "writes the rest. To revert what was written: "
                    + commands.command("undo", runID, "--execute"),
            ]
        case .undecided(let reasons, let all):
            [
                "The canary could not be checked: the run corrected \(all) subscriptions and asked "
                    + "Apple about them again, which gave no verdict for "
                    + "\(reasons.values.reduce(0, +)) of them "
                    + "(\(reasons.keys.map(\.rawValue).sorted().joined(separator: ", "))). Nothing more "
                    + "was written. If the next run of this job starts within "
                    + "\(OpenPass.usualHours) hours, it checks them before it writes the rest; a "
                    + "later one makes a new plan for the rest."
            ]
        case .interrupted(_, let subscriptions):
            [
                "The run ended after it had corrected \(subscriptions) subscriptions as a canary. "
                    + "Nothing more was written."
            ]
        }
    }

    private static let mostNamed = 5

    private static func list(_ rows: [String: String]) -> String {
        let named = rows.sorted { $0.key < $1.key }.prefix(mostNamed)
            .map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
        return rows.count > mostNamed ? "\(named) and \(rows.count - mostNamed) more" : named
    }
}

extension GuardName {
    /// Whether it objects to how much a plan changes, and not to what.
    fileprivate var isAboutSize: Bool {
        switch self {
        case .maxChanges, .maxChangeShare: true
        case .maxSameDirectionShare, .maxShrinkShare, .maxOwnFault, .maxExcludedShare,
            .maxNotFoundShare, .maxVerificationFailures, .afterPlan, .canary:
            false
        }
    }
}

/// The end of a run that applies a plan or reverts a run: nothing was checked, so only the
/// corrections that could not be written count.
struct PlannedEnding: Hashable, Sendable {
    var source: PlanSource
    var unwritten: UnwrittenCorrections
    var undo: UndoCounts?

    var statuses: [ExitStatus] {
        var held: [ExitStatus] = []
        if count(.stale) + count(.heldBack) > 0 { held.append(.stale) }
        if count(.rejected) + count(.unproven) > 0 { held.append(.incomplete) }
        return held
    }

    /// Sentences for the person on call.
    ///
    /// - Parameter commands: The commands to give next.
    /// - Returns: In the order of importance.
    func messages(_ commands: RunCommands) -> [String] {
        var sentences: [String] = []
        switch source {
        case .judgement: break
        case .plan: sentences += moved(commands)
        case .undo: sentences += conflicts
        }
        if count(.rejected) > 0 {
            sentences.append(
                "A trigger or constraint of the database refused "
                    + "\(changes(.rejected))\(names(.rejected)). Those rows were not changed. Fix the "
                    + "cause and give the same command again: \(commands.again)")
        }
        if count(.unproven) > 0 {
            sentences.append(
                "The signed evidence of \(changes(.unproven)) is no longer stored"
                    + "\(names(.unproven)), so their rows were not changed. Make a new plan: "
                    + commands.newPlan)
        }
        if count(.heldBack) > 0 {
            sentences.append(
                "Deferred: \(changes(.heldBack))\(names(.heldBack)). Each ends access that continues "
                    + "through another subscription, which the table does not show as active. Those "
                    + "rows were not changed. plan.json names both (\"access_continues_by\"). Once the "
                    + "table has the other one, give the same command again: \(commands.again)")
        }
        if case .undo = source, unwritten.othersWereWritten || undo?.done ?? 0 > 0 {
            sentences.append(
                "Apple's statements have not changed, so the next run with mode apply writes the "
                    + "reverted values again. Until you know why they were wrong, set \"mode: check\" "
                    + "in the job, or make the fields report-only under \"authority\".")
        }
        return sentences
    }

    private func count(_ fate: CorrectionFate) -> Int { unwritten.counts[fate] ?? 0 }

    private func changes(_ fate: CorrectionFate) -> String { Self.changes(count(fate)) }

    private static func changes(_ count: Int) -> String {
        count == 1 ? "1 change" : "\(count) changes"
    }

    private func moved(_ commands: RunCommands) -> [String] {
        guard count(.stale) > 0 else { return [] }
        var sentences: [String] = []
        if unwritten.outdated > 0 {
            let named = unwritten.namedOutdated.map(\.sentence).joined(separator: "; ")
            let more = unwritten.outdated > unwritten.namedOutdated.count ? "; …" : ""
            sentences.append(
                "Not written, because Apple signed a newer statement about the subscription than the "
                    + "plan rests on: \(Self.changes(unwritten.outdated)) (\(named)\(more)).")
        }
        let moved = count(.stale) - unwritten.outdated
        if moved > 0 {
            let outdated = Set(unwritten.namedOutdated.map(\.originalTransactionID))
            let named = (unwritten.named[.stale] ?? []).filter { !outdated.contains($0) }
            sentences.append(
                "Not written, because the row changed since the plan was made: "
                    + "\(Self.changes(moved))\(Self.names(named, of: moved)).")
        }
        let sentence =
            sentences.joined(separator: " ") + " plan.json names them all (fate \"stale\")."
        let newPlan = "Make a new plan: \(commands.newPlan)"
        switch unwritten.asPlanned {
        case 0: return [sentence + " " + newPlan]
        case count(.stale):
            return [sentence + " The table has all these values already, so nothing is left to do."]
        case let done:
            return [sentence + " The table has the values of \(done) of them already. " + newPlan]
        }
    }

    private var conflicts: [String] {
        var sentences: [String] = []
        if let undo, undo.done > 0 {
            sentences.append("Reverted before: \(undo.done).")
        }
        guard count(.stale) > 0 else { return sentences }
        let named = undo?.named ?? []
        let first = named.isEmpty ? "" : " The first: " + named.joined(separator: "; ") + "."
        sentences.append(
            "Not reverted, because the row changed since or Apple signed a newer statement: "
                + "\(changes(.stale)).\(first) plan.json "
                + "names them all (fate \"stale\").")
        return sentences
    }

    private func names(_ fate: CorrectionFate) -> String {
        Self.names(unwritten.named[fate] ?? [], of: count(fate))
    }

    private static func names(_ named: [String], of count: Int) -> String {
        guard !named.isEmpty else { return "" }
        let more = count > named.count ? ", …" : ""
        return " (" + named.joined(separator: ", ") + more + ")"
    }
}
