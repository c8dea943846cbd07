import GRDB
import Subscriptions

/// What shows that an open finding `h` of an earlier night is gone, as conditions on the pass `?1`.
///
/// What a report carries on and what stays open after its run are decided by the same conditions,
/// so that the reports and the books agree.
enum FindingLook {
    /// The states of a finding that is not resolved.
    static let unresolved = "('new', 'open', 'recurring', 'acknowledged')"

    /// The unresolved finding that comes so many places after the first one, with which the next chunk
    /// begins; `nil` where there is none.
    static func next(after count: Int, from first: String, _ db: Database) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT finding_id FROM trueup_findings
                    WHERE state IN \(unresolved) AND finding_id >= ?
                    ORDER BY finding_id LIMIT 1 OFFSET ?
                    """),
            arguments: [first, count])
    }

    /// That the pass states the finding, whichever period its line names.
    static let wasFound = """
        EXISTS (SELECT 1 FROM trueup_pass_findings AS f
            WHERE f.pass_id = ?1 AND f.finding_id = h.finding_id AND f.superseded_by IS NULL)
        """

    /// Whether the pass examined as much as shows that the finding is gone: of its row, or, where it
    /// names no subscription, of that in which it was found.
    static let wasLookedAt = """
        CASE WHEN h.original_transaction_id IS NOT NULL THEN \(wasRowLookedAt)
            WHEN \(isOfAnswer) THEN \(wasAnsweredAgain)
            ELSE EXISTS (SELECT 1 FROM trueup_pass_recovered AS n WHERE n.pass_id = ?1
                AND n.bundle_id = h.bundle_id AND n.environment = h.environment) END
        """

    /// That the finding, or the row, is of an app that the run is for.
    ///
    /// A run for some apps alone neither repeats nor closes what was found of another, nor misses its
    /// rows.
    ///
    /// - Parameters:
    ///   - narrowing: The run's narrowing as it is stored; it leaves out nothing of its apps.
    ///   - name: Of what has the app.
    /// - Returns: A condition on what is called so.
    static func isOfAnApp(narrowing: String, of name: String = "h") -> String {
        """
        (\(narrowing) = '' OR instr(char(10) || \(narrowing) || char(10),
            char(10) || '\(RunHeader.appNarrowing)' || \(name).bundle_id || '/'
                || lower(\(name).environment) || char(10)) > 0)
        """
    }

    /// Whether the pass inserted the row: with the values that Apple states.
    static let wasInserted = """
        EXISTS (SELECT 1 FROM trueup_pass_rows AS p WHERE \(isRowOfPass)
            AND \(isSettledByInsert))
        """

    /// A finding about a row is nobody's any more once the row is gone, or, where two rows are one
    /// too many, the other one.
    static let isAboutSomething = """
        CASE WHEN h.original_transaction_id IS NULL THEN
                NOT \(isOfAnswer) OR EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                    JOIN subscriptions AS s ON s.bundle_id = h.bundle_id
                        AND s.environment = h.environment AND s.original_transaction_id = f.field
                    WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id)
            WHEN h.kind = '\(FindingKind.missingLocally.rawValue)' THEN 1
            WHEN h.kind = '\(FindingKind.duplicateLocal.rawValue)' THEN
                EXISTS (SELECT 1 FROM subscriptions AS s WHERE \(isRow)
                    AND \(HeldRows.hasDuplicates))
            ELSE EXISTS (SELECT 1 FROM subscriptions AS s WHERE \(isRow)) END
        """

    private static let isRow = """
        s.bundle_id = h.bundle_id AND s.environment = h.environment
            AND s.original_transaction_id = h.original_transaction_id
        """

    private static let isRowOfPass = """
        p.pass_id = ?1 AND p.bundle_id = h.bundle_id AND p.environment = h.environment
            AND p.original_transaction_id = h.original_transaction_id
        """

    private static let isJudged = """
        p.verdict IN (\(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue))
        """

    private static let wasRowLookedAt = """
        EXISTS (SELECT 1 FROM trueup_pass_rows AS p WHERE \(isRowOfPass)
            AND (\(isSettledByInsert)
                OR \(isJudged) AND (p.look >= \(neededLook) OR \(isOfCurrentPeriod))))
        """

    /// What is inserted rests on Apple's statement; it says nothing about older periods.
    private static let isSettledByInsert = """
        p.verdict = \(VerdictCode.inserted.rawValue)
            AND \(neededLook) <= \(LookDepth.statement.rawValue)
        """

    /// How much of a row must have been examined to show that a finding of a kind is resolved.
    ///
    /// A kind that this version does not know counts as one about Apple's statement.
    private static let neededLook: String = {
        let kinds = FindingKind.allCases.map {
            "WHEN '\($0.rawValue)' THEN \($0.neededLook.rawValue)"
        }
        return
            "CASE h.kind \(kinds.joined(separator: " ")) ELSE \(LookDepth.statement.rawValue) END"
    }()

    /// Every status answer shows the price of the current period; older ones only the history.
    private static let isOfCurrentPeriod = """
        h.kind = 'price' AND p.look >= \(LookDepth.statement.rawValue)
            AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                JOIN subscriptions AS s ON \(isRow)
                    AND s.latest_transaction_id = f.transaction_id
                WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id)
        """

    /// That a finding without a subscription was found in the answer about the row that `field`
    /// names; every other one is of the notification history.
    private static let isOfAnswer = """
        (h.kind = '\(FindingKind.verificationFailed.rawValue)'
            AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id
                    AND f.field NOT LIKE '\(Finding.notificationFieldPrefix)%'))
        """

    private static let wasAnsweredAgain = """
        EXISTS (SELECT 1 FROM trueup_pass_findings AS f
            JOIN trueup_pass_rows AS p ON p.pass_id = ?1 AND p.bundle_id = h.bundle_id
                AND p.environment = h.environment AND p.original_transaction_id = f.field
                AND p.look >= \(LookDepth.statement.rawValue) AND \(isJudged)
            WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id)
        """
}
