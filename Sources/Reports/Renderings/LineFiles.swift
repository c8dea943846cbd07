import Subscriptions

/// The files that hold a record a line.
extension ReportFile {
    static let discrepancies = ReportFile(
        name: "discrepancies.jsonl",
        purpose: "every finding, one JSON object a line, sorted by key",
        table: Table.findings, namesRun: false,
        records: { try $0.record.forEachFinding($1) })

    static let discrepanciesCSV = ReportFile(
        name: "discrepancies.csv", purpose: "the same findings as CSV; amounts are milliunits",
        table: Table.findings, namesRun: false,
        records: { try $0.record.forEachFinding($1) })

    static let corrections = ReportFile(
        name: "corrections.jsonl",
        purpose: "what was changed: before, after, evidence and ledger entry of each row",
        mayBePacked: true
    ) { source, file in
        try source.record.forEachCorrection { entry in
            try file.append { bytes in
                bytes += entry.canonicalBytes
                bytes.append(0x0A)
            }
        }
    }

    static let correctionsCSV = ReportFile(
        name: "corrections.csv",
        purpose:
            "the changes of values for a spreadsheet, one line a changed field; of a check, what it "
            + "would change; the last line counts what only fills empty fields or adds periods"
    ) { source, file in
        let table = Table.changedFields.stating(source.notice)
        let lines = AlikeLines(of: table, differingIn: ChangedField.ownColumns)
        var fills = FillTotal(runID: source.runID, fate: .applied)
        try file.write(table.csvHeader)
        let newPeriods = try source.record.forEachEvidencedCorrection(
            where: { !fills.take($0) },
            { correction in
                try file.append { lines.append(correction.changedFields, to: &$0) }
            })
        fills.add(newPeriods: newPeriods)
        try file.append { fills.append(to: table, source.notice, &$0) }
        guard source.context.isPlanOnly else { return }
        var planned = FillTotal(runID: source.runID, fate: .planned)
        try source.record.forEachPlanned { correction, fate in
            guard !planned.take(correction) else { return }
            let fields = correction.changedFields(ofRun: source.runID, fate: fate)
            try file.append { lines.append(fields, to: &$0) }
        }
        try file.append { planned.append(to: table, source.notice, &$0) }
    }

    static let undecided = ReportFile(
        name: "undecided.csv",
        purpose: "rows that were not checked, with the reason; never a match",
        table: Table.undecided, records: { try $0.record.forEachUndecided($1) })

    static let notFound = ReportFile(
        name: "not_found.csv",
        purpose: "ids that Apple does not find: since when, on how many days, last good evidence",
        table: Table.notFound, records: { try $0.record.forEachNotFound($1) })

    static let notifications = ReportFile(
        name: "notifications.csv", purpose: "Apple's notification history against the inbox",
        table: Table.notifications,
        records: { try $0.record.forEachNotification($1) })

    static let entitlements = ReportFile(
        name: "entitlements.csv",
        purpose: "what customers may use newly, longer or shorter since the report before",
        table: Table.entitlements,
        records: { try $0.record.forEachEntitlementChange($1) })

    static let unowned = ReportFile(
        name: "unowned.csv",
        purpose: "purchases without a known owner, and what speaks for which customer; the program "
            + "never decides",
        mayBePacked: true,
        table: Table.unowned, records: { try $0.record.forEachUnowned($1) })

    static let evidence = ReportFile(
        name: "evidence.jsonl",
        purpose: "every signed payload that a finding or correction rests on, exactly as received; "
            + "a tombstone for one that was erased",
        mayBePacked: true
    ) { source, file in
        let notice = source.notice
        try source.record.forEachEvidence { evidence in
            try file.append { bytes in
                evidence.append(notice: notice, to: &bytes)
            }
        }
    }
}

extension ReportedEvidence {
    /// One line; a tombstone says when and why instead of what.
    func append(notice: String?, to bytes: inout [UInt8]) {
        let digest: EvidenceDigest
        switch self {
        case .payload(let payload):
            digest = payload.digest
            bytes.append(contentsOf: #"{"jws":"#.utf8)
            Cell.text(payload.jws).appendJSON(to: &bytes)
        case .erased(let tombstone):
            digest = tombstone.digest
            bytes.append(contentsOf: #"{"erased_at":"#.utf8)
            Cell(tombstone.erasedAt).appendJSON(to: &bytes)
            bytes.append(contentsOf: #","erased_because":"#.utf8)
            Cell.own(tombstone.reason).appendJSON(to: &bytes)
        }
        if let notice {
            bytes.append(contentsOf: #","notice":"#.utf8)
            Cell.text(notice).appendJSON(to: &bytes)
        }
        bytes.append(contentsOf: #","sha256":"#.utf8)
        Cell.own(digest.hexadecimal).appendJSON(to: &bytes)
        bytes.append(contentsOf: "}\n".utf8)
    }
}

extension ReportFile {
    static let business = ReportFile(
        name: "business.jsonl",
        purpose: "renewals, cancellations, trials, refunds and failed charges by day and product, "
            + "counted from Apple's signed notifications; empty where none were read",
        table: Table.business,
        records: { try BusinessView($0.summary).forEachLine($1) })

    static let businessCSV = ReportFile(
        name: "business.csv", purpose: "the same for a spreadsheet",
        table: Table.business,
        records: { try BusinessView($0.summary).forEachLine($1) })
}

extension ReportFile {
    static let derivations = ReportFile(
        name: "derivations.jsonl",
        purpose: "from which signed fields each corrected status follows: Apple signs no status",
        mayBePacked: true
    ) { source, file in
        let notice = source.noticeMember
        _ = try source.record.forEachEvidencedCorrection(
            where: { $0.statedStatus != nil },
            { correction in
                guard let status = CorrectedStatus(correction) else { return }
                let line = CanonicalJSON.object(status.members.merging(notice) { own, _ in own })
                try file.write(line.rendered + "\n")
            })
    }
}

extension Table where Record == ReportedFinding {
    /// The members of a finding, in the order of docs/report-files.md.
    static let findings = Table([
        ("finding_id", { .own($0.findingID) }),
        ("run_id", { .own($0.runID) }),
        ("kind", { .own($0.finding.kind.rawValue) }),
        ("severity", { .own($0.finding.severity.rawValue) }),
        ("state", { .own($0.state.rawValue) }),
        ("app", { .text($0.finding.bundleID) }),
        ("environment", { .text($0.finding.environment) }),
        ("original_transaction_id", { Cell($0.finding.key?.originalTransactionID) }),
        ("transaction_id", { Cell($0.finding.transactionID) }),
        ("customer_id", { Cell($0.finding.customerID) }),
        ("product_id", { Cell($0.finding.productID) }),
        ("field", { Cell($0.finding.field) }),
        ("local_value", { Cell($0.finding.localValue) }),
        ("apple_value", { Cell($0.finding.appleValue) }),
        ("local_as_of", { Cell($0.finding.localAsOf) }),
        ("apple_as_of", { Cell($0.finding.appleAsOf) }),
        ("direction", { .own($0.finding.direction.rawValue) }),
        ("amount", { .amount($0.finding.amount, in: $0.finding.currency) }),
        ("currency", { Cell($0.finding.currency) }),
        ("cause", { Cell($0.finding.cause) }),
        ("evidence", { Cell($0.finding.evidence) }),
        ("action", { .own($0.finding.action.rawValue) }),
        ("first_seen", { Cell($0.firstSeen) }),
        ("asked_because", { Cell($0.finding.askedBecause?.rawValue) }),
        // The amount once more, under a name that says what it counts.
        ("amount_milliunits", { Cell($0.finding.amount) }),
    ])
}

extension Table where Record == UndecidedRow {
    /// Rows that were not checked, with the reason.
    static let undecided = Table([
        ("app", { .text($0.key.bundleID) }),
        ("environment", { .text($0.key.environment) }),
        ("original_transaction_id", { .text($0.key.originalTransactionID) }),
        ("customer_id", { Cell($0.customerID) }),
        ("reason", { .own($0.reason.rawValue) }),
    ])
}

extension Table where Record == NotFoundAccount {
    /// Rows that Apple did not find: since when, on how many days, and what was last proven.
    static let notFound = Table([
        ("app", { .text($0.key.bundleID) }),
        ("environment", { .text($0.key.environment) }),
        ("original_transaction_id", { .text($0.key.originalTransactionID) }),
        ("customer_id", { Cell($0.customerID) }),
        ("status", { Cell($0.status) }),
        ("state", { .own($0.isConfirmed ? "confirmed" : "suspect") }),
        ("first_day", { .own($0.absence.firstDay) }),
        ("last_day", { .own($0.absence.lastDay) }),
        ("distinct_days", { Cell($0.absence.distinctDays) }),
        ("last_good_as_of", { Cell($0.lastGoodAsOf) }),
        ("last_good_evidence", { Cell($0.lastGoodEvidence) }),
    ])
}

extension Table where Record == EntitlementChange {
    /// Entitlements that changed, with when access ended before and when it ends now.
    static let entitlements = Table([
        ("app", { .text($0.bundleID) }),
        ("environment", { .text($0.environment) }),
        ("customer_id", { .text($0.customerID) }),
        ("entitlement", { .text($0.entitlement) }),
        ("change", { .own($0.kind.rawValue) }),
        ("expires_date_before", { Cell($0.wasUntil) }),
        ("expires_date", { Cell($0.until) }),
        ("grace_period_expires_date", { Cell($0.graceUntil) }),
        ("will_renew", { Cell($0.willRenew.map { $0 ? 1 : 0 }) }),
        ("product_id", { .text($0.productID) }),
        ("original_transaction_id", { .text($0.originalTransactionID) }),
        ("ownership", { Cell($0.ownership) }),
        ("as_of", { Cell($0.asOf) }),
    ])
}

extension Table where Record == UnownedPurchase {
    /// Purchases without a known owner, a line for each customer for whom something speaks.
    static let unowned = Table([
        ("app", { .text($0.bundleID) }),
        ("environment", { .text($0.environment) }),
        ("original_transaction_id", { .text($0.originalTransactionID) }),
        ("transaction_id", { Cell($0.transactionID) }),
        ("product_id", { Cell($0.productID) }),
        ("reason", { .own($0.reason.rawValue) }),
        ("customer_id", { Cell($0.customerID) }),
        ("app_account_token", { Cell($0.appAccountToken) }),
        ("apple_account_token", { Cell($0.appleAccountToken) }),
        ("speaks_for", { Cell($0.speaksFor) }),
        ("because", { Cell($0.because?.rawValue) }),
        ("evidence", { Cell($0.evidence) }),
    ])
}

extension Table where Record == NotificationAudit {
    /// Apple's notification history against the inbox.
    static let notifications = Table([
        ("app", { .text($0.app.bundleID) }),
        ("environment", { .own($0.app.environment.rawValue) }),
        ("notification_uuid", { .text($0.notificationUUID) }),
        ("notification_type", { .text($0.notificationType) }),
        ("subtype", { Cell($0.subtype) }),
        ("signed_date", { Cell($0.signedDate) }),
        ("original_transaction_id", { Cell($0.originalTransactionID) }),
        ("attempts", { Cell($0.attempts) }),
        ("last_attempt_result", { Cell($0.lastAttemptResult) }),
        ("verdict", { .text($0.verdict) }),
        ("evidence", { Cell($0.evidence) }),
    ])
}
