package import Subscriptions

/// The guards: limits on a whole plan, checked before its first write.
///
/// Each returns what is wrong with the plan, in sentences; `nil` where it lets the plan pass.
extension GuardLimits {
    /// The objections of every guard; empty when the plan may be written.
    ///
    /// In the order of the messages: first about what the plan would do, then about what the plan
    /// is based on.
    package func breaches(by plan: SurveyedPlan) -> [GuardBreach] {
        let objections: [(GuardName, String?)] = [
            (.maxShrinkShare, shrinkObjection(to: plan)),
            (.maxOwnFault, ownFaultObjection(to: plan)),
            (.maxSameDirectionShare, directionObjection(to: plan)),
            (.maxChanges, changeCountObjection(to: plan)),
            (.maxChangeShare, changeShareObjection(to: plan)),
            (.maxExcludedShare, exclusionObjection(to: plan)),
            (.maxNotFoundShare, notFoundObjection(to: plan)),
            (.maxVerificationFailures, verificationObjection(to: plan)),
        ]
        return objections.compactMap { name, sentence in
            sentence.map { GuardBreach(name: name, sentence: $0) }
        }
    }
}

/// The objection of one guard to a plan.
package struct GuardBreach: Hashable, Sendable {
    package var name: GuardName
    /// Whole sentences with both numbers, what was found and what is allowed.
    package var sentence: String

    package init(name: GuardName, sentence: String) {
        self.name = name
        self.sentence = sentence
    }

    /// For messages: `guard max_changes: The plan changes …`.
    package var named: String { "guard \(name.rawValue): \(sentence)" }
}

/// A plan as the guards see it: its counts from the store, and what its corrections have in common.
package struct SurveyedPlan: Hashable, Sendable {
    package var totals: PlanTotals
    package var survey: PlanSurvey
    /// Whether the rows are in a table of the company's own, read by a mapping or a store program.
    package var isOfMappedTable = false

    package init(totals: PlanTotals, survey: PlanSurvey = PlanSurvey()) {
        self.totals = totals
        self.survey = survey
    }

    /// The rows that a share is of: those in scope, and where only due rows were checked also
    /// the quiet ones.
    var covered: Int { totals.coveredRows }

    /// `1,000 rows in scope`, as the sentences say it.
    var coveredInWords: String {
        "\(covered) rows \(covered == totals.totals.inScope ? "in scope" : "covered")"
    }

    /// Whether so many rows exceed a share of the rows covered.
    ///
    /// With no row covered any change exceeds it. A share of 1 is not a limit.
    func passes(_ share: Double, by rows: Int) -> Bool {
        share < 1 && Double(rows) > share * Double(covered)
    }

    /// `12 of 60 one-time purchases`, where so many exceed a share of them; `nil` where they do not.
    ///
    /// A share of their own: many unchanged purchases must not hide a change of many subscriptions.
    func purchases(pass share: Double, by purchases: Int) -> String? {
        guard share < 1, Double(purchases) > share * Double(totals.purchases) else { return nil }
        return "\(purchases) of \(totals.purchases) stored one-time purchases"
    }

    /// Returns the same objection for the rows that were checked without a sign of a change, in
    /// words; `nil` where the share is not exceeded, or every row was checked.
    ///
    /// These rows represent those which were not checked.
    func routine(passes share: Double, by rows: Int) -> String? {
        guard share < 1, let routine = totals.routine, Double(rows) > share * Double(routine.judged)
        else { return nil }
        return "\(rows) of \(routine.judged) rows of the sweep and the sample, which represent all "
            + "others"
    }
}

/// Totals over the corrections of a plan, gathered one by one.
///
/// Its size does not depend on the number of corrections.
package struct PlanSurvey: Hashable, Sendable {
    private(set) var access = AccessChanges()
    private(set) var purchaseAccess = AccessChanges()
    /// The changes of access among rows that were checked as a matter of routine.
    private(set) var routineAccess = AccessChanges()
    private(set) var faults = OwnFaults()

    package init() {}

    package mutating func add(_ correction: PlannedCorrection, askedBecause: QuestionReason?) {
        if case .purchase = correction.changes {
            purchaseAccess.add(correction)
            return
        }
        access.add(correction)
        if askedBecause?.isRoutine == true { routineAccess.add(correction) }
        faults.add(correction)
    }
}

/// For how many rows a plan ends access, and for how many it gives access.
///
/// Inserts, and rows whose status was not known, count as neither. A refund of a one-time purchase ends
/// access, its reversal grants it.
struct AccessChanges: Hashable, Sendable {
    private(set) var ended = 0
    private(set) var given = 0

    mutating func add(_ correction: PlannedCorrection) {
        if case .purchase(let changes) = correction.changes,
            case .updatePeriod = correction.target, let refund = changes[.revocationDate]
        {
            if refund.before.isEmpty, !refund.after.isEmpty { ended += 1 }
            if !refund.before.isEmpty, refund.after.isEmpty { given += 1 }
            return
        }
        guard case .update = correction.target,
            let change = correction.changes.ofSubscription[.status],
            let ours = change.before.isEntitlingStatus, let apple = change.after.isEntitlingStatus
        else { return }
        if ours, !apple { ended += 1 }
        if !ours, apple { given += 1 }
    }
}

extension GuardLimits {
    /// `max_changes`: the plan changes more subscriptions than a run ever should.
    private func changeCountObjection(to plan: SurveyedPlan) -> String? {
        let changes = plan.totals.changes
        guard changes >= minChanges, changes > maxChanges else { return nil }
        return "The plan changes \(changes) rows; max_changes allows \(maxChanges)."
    }

    /// `max_change_share`: the plan changes too large a share of the rows.
    ///
    /// Where only due rows were checked, two shares are held against the limit: that of the whole
    /// table, because most due rows are due because something has changed; and that of the rows which
    /// were checked without a sign of a change, because they represent the rest of the table.
    ///
    /// `min_changes` exempts small tables, where three rows are a large share. A share of 1 is no
    /// limit, because a first fill also inserts rows that are not in scope yet.
    private func changeShareObjection(to plan: SurveyedPlan) -> String? {
        let share = maxChangeShare
        let ofPurchases = plan.totals.purchaseChanges
        let changes = plan.totals.changes - ofPurchases
        let routine = plan.totals.routine?.changed ?? 0
        var part: String?
        if ofPurchases >= minChanges { part = plan.purchases(pass: share, by: ofPurchases) }
        if part == nil { part = rows(changes, orRoutine: routine, of: plan, passing: share) }
        return part.map { "The plan changes \($0); max_change_share allows \(share)." }
    }

    /// `12 of 1,000 rows in scope`, where so many changed rows exceed a share of them, or so many
    /// of those that were checked as a matter of routine; `nil` where neither do.
    private func rows(
        _ rows: Int, orRoutine routine: Int, of plan: SurveyedPlan, passing share: Double
    ) -> String? {
        if rows >= minChanges, plan.passes(share, by: rows) {
            return "\(rows) of \(plan.coveredInWords)"
        }
        return routine >= minChanges ? plan.routine(passes: share, by: routine) : nil
    }

    /// `max_same_direction_share`: the plan ends access for too many rows, or gives access to too
    /// many.
    ///
    /// When most subscriptions seem to expire at once, that is an incident at Apple or in the table,
    /// and not a change of so many customers. Where only due rows were checked, the shares are those of
    /// `max_change_share`. `min_changes` exempts small plans; a share of 1 means no limit.
    private func directionObjection(to plan: SurveyedPlan) -> String? {
        let share = maxSameDirectionShare
        let (all, routine) = (plan.survey.access, plan.survey.routineAccess)
        let bought = plan.survey.purchaseAccess
        func purchases(_ count: Int) -> String? {
            count >= minChanges ? plan.purchases(pass: share, by: count) : nil
        }
        let parts = [
            ("ends access by", purchases(bought.ended)),
            ("grants access by", purchases(bought.given)),
            (
                "ends access for",
                rows(all.ended, orRoutine: routine.ended, of: plan, passing: share)
            ),
            (
                "grants access for",
                rows(all.given, orRoutine: routine.given, of: plan, passing: share)
            ),
        ]
        let sentences = parts.compactMap { what, part in
            part.map { "The plan \(what) \($0), and max_same_direction_share allows \(share)." }
        }
        guard !sentences.isEmpty else { return nil }
        return sentences.joined(separator: " ")
            + " So many at once are probably an incident at Apple or in the table. Look at Apple's "
            + "system status, and at some of these customers in the app."
    }

    /// `max_excluded_share`: too many rows were excluded, because they belong to no configured app or
    /// are in flight.
    ///
    /// Then the settings name the wrong app or environment, or something keeps rewriting the rows, and
    /// matches of the remaining rows prove little. Rows in flight only because of our own last
    /// correction are not counted.
    private func exclusionObjection(to plan: SurveyedPlan) -> String? {
        let unconfigured = plan.totals.totals.excluded[.appNotConfigured] ?? 0
        let inFlight = max(
            0,
            (plan.totals.totals.excluded[.inFlight] ?? 0) - plan.totals.inFlightByOurselves)
        let excluded = unconfigured + inFlight
        guard excluded >= max(1, minChanges) else { return nil }
        let advice =
            unconfigured > 0
            ? "Compare apps in trueup.yaml with the bundle_id and environment of these rows; trueup "
                + "doctor counts them."
            : "Find out what rewrites these rows, and whether settle is too long."
        if plan.passes(maxExcludedShare, by: excluded) {
            let counts = [
                unconfigured > 0 ? "\(unconfigured) belong to no configured app" : nil,
                inFlight > 0 ? "\(inFlight) are in flight" : nil,
            ].compactMap(\.self).joined(separator: ", ")
            return "\(excluded) of \(plan.coveredInWords) were excluded (\(counts)); "
                + "max_excluded_share allows \(maxExcludedShare). \(advice)"
        }
        // Another app's rows that were added to the table also make it larger, so their share alone
        // may stay below the limit: it is compared with the last run as well.
        guard let last = plan.totals.lastRun, maxExcludedShare < 1 else { return nil }
        let before = last.excluded[.appNotConfigured] ?? 0
        let more = unconfigured - before
        guard more >= max(1, minChanges), Double(more) > maxExcludedShare * Double(last.inScope)
        else { return nil }
        return
            "\(unconfigured) rows belong to no configured app. In the last run these were \(before) of "
            + "\(last.inScope) rows, and max_excluded_share allows \(maxExcludedShare) more. "
            + advice
    }

    /// `max_not_found_share`: Apple does not know too many of our ids.
    ///
    /// Nothing is written for such rows, but many of them mean that the wrong app or environment was
    /// asked, and then the other rows must not be written either.
    private func notFoundObjection(to plan: SurveyedPlan) -> String? {
        let notFound = plan.totals.notFound
        guard notFound >= minChanges,
            Double(notFound) > maxNotFoundShare * Double(plan.covered)
        else { return nil }
        return "Apple did not find \(notFound) of \(plan.coveredInWords); "
            + "max_not_found_share allows \(maxNotFoundShare)."
    }

    /// `max_shrink_share`: the table has lost too many of its rows since the last run.
    ///
    /// It objects to an empty plan as well: the rows that are left of the table may all match. A size
    /// that it objected to is not the one that the next run compares with.
    private func shrinkObjection(to plan: SurveyedPlan) -> String? {
        guard let before = plan.totals.tableRowsBefore else { return nil }
        let lost = before - plan.totals.tableRows
        guard lost >= max(1, minChanges), maxShrinkShare < 1,
            Double(lost) > maxShrinkShare * Double(before)
        else { return nil }
        return "The table subscriptions has \(plan.totals.tableRows) rows. In the last run it had "
            + "\(before), so \(lost) are gone; max_shrink_share allows \(maxShrinkShare) of "
            + "them. First find out what deleted the rows, or whether this is the right database."
    }

    /// `max_verification_failures`: too many signed payloads do not verify, whatever the number of
    /// rows.
    private func verificationObjection(to plan: SurveyedPlan) -> String? {
        let failures = plan.totals.verificationFailures
        guard failures > maxVerificationFailures else { return nil }
        return "\(failures) signed payloads could not be verified; "
            + "max_verification_failures allows \(maxVerificationFailures)."
    }
}
