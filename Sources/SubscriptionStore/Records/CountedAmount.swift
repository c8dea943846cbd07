import Subscriptions

/// Which of a subscription's findings counts with the price of a period.
///
/// One for each direction, the most severe; of equally severe ones the first by kind and field, as
/// the report sorts them. A difference of price is no period's price and always counts.
enum CountedAmount {
    /// SQL: whether the amount of the finding `f` counts among the findings `g`.
    static func isCounted(among findings: String) -> String {
        """
        f.amount IS NOT NULL AND f.currency IS NOT NULL
            AND (f.kind = '\(FindingKind.price.rawValue)' OR NOT EXISTS (
                SELECT 1 FROM \(findings)
                WHERE g.pass_id = f.pass_id AND g.outcome_bundle_id = f.outcome_bundle_id
                    AND g.outcome_environment = f.outcome_environment
                    AND g.outcome_original_transaction_id = f.outcome_original_transaction_id
                    AND g.transaction_id = f.transaction_id AND g.direction = f.direction
                    AND g.currency = f.currency AND g.amount IS NOT NULL
                    AND g.kind <> '\(FindingKind.price.rawValue)'
                    AND (\(rank(of: "g")), f.kind, ifnull(f.field, ''), f.finding_seq)
                        > (\(rank(of: "f")), g.kind, ifnull(g.field, ''), g.finding_seq)))
        """
    }

    private static func rank(of finding: String) -> String {
        let cases = Severity.allCases.sorted().enumerated().map { rank, severity in
            "WHEN '\(severity.rawValue)' THEN \(rank)"
        }
        return "CASE \(finding).severity \(cases.joined(separator: " ")) ELSE -1 END"
    }
}
