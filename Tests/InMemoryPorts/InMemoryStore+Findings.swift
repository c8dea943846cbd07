import Subscriptions

extension State {
    /// Which findings are still true, as far as anybody has looked.
    static func identity(of finding: Finding) -> String {
        "\(finding.kind) \(finding.bundleID) \(finding.environment) "
            + "\(finding.key.map { "\($0)" } ?? "") \(finding.field ?? "")"
    }

    /// - Parameters:
    ///   - passID: The pass of the run that ended.
    ///   - resolves: Whether what it looked for and did not find is closed.
    ///   - knowsRows: Whether a row that is not there is known to be gone.
    mutating func rememberOpenFindings(in passID: Int64, resolves: Bool, knowsRows: Bool) {
        guard let pass = passes[passID] else { return }
        let standing = pass.findings.filter { !$0.isSuperseded }
        let isMended: Set<FindingAction> = [.corrected, .inserted, .recovered]
        open = open.filter { _, finding in
            guard pass.began.isFor(finding) else { return true }
            guard resolves else {
                return !(pass.undoOf == nil && pass.inserted(rowOf: finding))
            }
            if knowsRows, !isAboutSomething(finding) { return false }
            return !pass.looked(for: finding)
        }
        for staged in standing {
            let finding = staged.finding
            guard ![.notificationMissed, .notificationLost].contains(finding.kind) else { continue }
            let id = Self.identity(of: finding)
            let isDone =
                pass.fate(of: staged.correction) == .applied
                || isMended.contains(finding.action)
            open[id] = isDone ? nil : finding
            reportedBy[id, default: []].insert(pass.began.job)
        }
    }

    /// Whether the row that a finding is about is there; of two rows that are one too many, both.
    func isAboutSomething(_ finding: Finding) -> Bool {
        guard let key = finding.keyLookedAt, finding.kind != .missingLocally else { return true }
        guard let row = table.rows[key] else { return false }
        return finding.kind != .duplicateLocal || !table.duplicates(of: row).isEmpty
    }
}

extension RunHeader {
    /// Whether a finding is of an app that the run is for.
    func isFor(_ finding: Finding) -> Bool {
        !isForAppsAlone
            || apps.contains {
                $0.bundleID == finding.bundleID && $0.environment.rawValue == finding.environment
            }
    }
}

extension Pass {
    /// Whether the pass states a finding.
    func states(_ identity: String) -> Bool {
        findings.contains { !$0.isSuperseded && State.identity(of: $0.finding) == identity }
    }

    /// Whether the pass states a finding that it did not take over.
    func found(_ identity: String) -> Bool {
        findings.contains {
            !$0.isSuperseded && !$0.isCarried && State.identity(of: $0.finding) == identity
        }
    }

    /// Whether the pass examined as much as shows whether a finding is gone.
    func looked(for finding: Finding) -> Bool {
        guard let key = finding.keyLookedAt else {
            return recovered.contains {
                $0.bundleID == finding.bundleID && $0.environment.rawValue == finding.environment
            }
        }
        if inserted(rowOf: finding) { return true }
        guard let row = rows[key], row.verdict == .match || row.verdict == .discrepancy else {
            return false
        }
        return row.look >= finding.kind.neededLook
    }

    /// Whether the pass wrote the row as Apple states it, which says nothing of older periods.
    func inserted(rowOf finding: Finding) -> Bool {
        guard let key = finding.key, finding.kind.neededLook <= .statement else { return false }
        return rows[key]?.isInserted == true
    }
}

extension Finding {
    /// The row in which it was found: its own, or the one that was asked about; `nil` where it was
    /// found in the notification history.
    fileprivate var keyLookedAt: SubscriptionKey? {
        if let key { return key }
        guard kind == .verificationFailed, let field,
            !field.hasPrefix(Self.notificationFieldPrefix)
        else { return nil }
        return SubscriptionKey(
            bundleID: bundleID, environment: environment, originalTransactionID: field)
    }
}
