import JSONWebSignature
import Subscriptions

/// The comparison of a correction with its signed evidence.
///
/// This finds an edited value or an exchanged payload even when every digest was recomputed.
struct StatementCheck {
    var problems: [String]
    /// Whether the evidence was erased, so that it could not be verified.
    var restsOnErased = false
    /// The values of the verified evidence; `nil` where it is not valid or was erased.
    var values: StatedValues?
}

extension EvidenceFile {
    /// Checks a correction, written or planned.
    ///
    /// Where it reverts another one, the evidence is that entry's, so only its identity is compared
    /// and not the values.
    func check(_ entry: JSONRecord) async -> StatementCheck {
        guard let app = run.apps.app(of: entry) else {
            return StatementCheck(problems: [KnownApps.problem])
        }
        do throws(UnreadableFile) {
            guard let values = try await values(of: entry, app) else {
                return StatementCheck(problems: problemsOfErased(entry), restsOnErased: true)
            }
            let problems =
                entry.states("undo_of")
                ? identityProblems(of: entry, values) : problems(of: entry, values)
            return StatementCheck(problems: problems, values: values)
        } catch {
            return StatementCheck(problems: [error.reason])
        }
    }

    /// A run never writes on erased evidence, and nothing is erased while a run holds the lock.
    ///
    /// So evidence that the writing run's own report shows as erased was erased before the write.
    ///
    /// Clocks are not compared: they are set back, and a rehearsal has its own. Corrections of a
    /// run that was killed are reported by a later one, and evidence may be erased in between.
    /// Reverting needs no evidence.
    private func problemsOfErased(_ entry: JSONRecord) -> [String] {
        guard !entry.states("undo_of"), entry.states("written_at"),
            entry.text("run_id")?.isSame(as: run.manifest.runID) == true
        else { return [] }
        return ["it was written after its evidence had been erased"]
    }

    /// The values of a correction's evidence; `nil` where a part of it was erased.
    private func values(
        of entry: JSONRecord, _ app: ManifestRecord.App
    ) async throws(UnreadableFile) -> StatedValues? {
        guard let digest = entry.text("evidence"), digest.isDigest else {
            throw UnreadableFile("it names no evidence")
        }
        var transaction: SignedTransaction?
        switch try await statement(of: digest, for: app) {
        case .transaction(let stated): transaction = stated
        case .erased: break
        default:
            throw UnreadableFile(
                "the evidence \(digest) is not a transaction of "
                    + "\(app.identity.bundleID) in \(app.identity.environment.rawValue)")
        }
        guard !Self.isTransaction(entry) else {
            guard !entry.states("evidence_renewal") else {
                throw UnreadableFile(
                    "it names a renewal info, which no period and no purchase rests on")
            }
            return transaction.map { StatedValues(transaction: $0, renewal: nil) }
        }
        guard let digest = entry.text("evidence_renewal"), digest.isDigest else {
            throw UnreadableFile("it names no evidence_renewal")
        }
        switch try await statement(of: digest, for: app) {
        case .renewal(let renewal):
            return transaction.map { StatedValues(transaction: $0, renewal: renewal) }
        case .erased: return nil
        default:
            throw UnreadableFile(
                "the evidence \(digest) is not a renewal info of "
                    + "\(app.identity.bundleID) in \(app.identity.environment.rawValue)")
        }
    }

    /// Whether the row is one transaction: a period or a one-time purchase.
    private static func isTransaction(_ entry: JSONRecord) -> Bool {
        entry.text("table") == "transactions" || entry.text("table") == "purchases"
    }

    private func problems(of entry: JSONRecord, _ values: StatedValues) -> [String] {
        var problems = identityProblems(of: entry, values)
        guard let table = entry.text("table"),
            ["subscriptions", "transactions", "purchases"].contains(table)
        else { return problems + ["it names no table"] }
        guard let after = entry.record("after"), let before = entry.record("before"),
            Set(after.names) == Set(before.names), !after.names.isEmpty
        else { return problems + ["its before and after are not about the same fields"] }
        for column in after.names {
            let stated =
                switch table {
                case "transactions": values.periodValue(of: column)
                case "purchases": values.purchaseValue(of: column)
                default: values.subscriptionValue(of: column)
                }
            guard let stated, let written = after[column] else { continue }
            if !written.source.isSame(as: stated.rendered) {
                problems.append(
                    "its \(column) is \(written.source), the signed payload says "
                        + stated.rendered)
            }
        }
        if table == "transactions", entry.text("action") == "update" {
            for column in before.names where before.states(column) && before.text(column) != "" {
                problems.append("its \(column) was not empty: a period is only ever filled in")
            }
        }
        for column in ["quantity", "revoked_seats"] where table == "subscriptions" {
            guard values.transaction.seats?.sharesPeriod == true,
                let seats = after.integer(column), seats < values.ownSeats(of: column)
            else { continue }
            problems.append(
                "its \(column) is \(seats), but one transaction of the period alone has "
                    + "\(values.ownSeats(of: column))")
        }
        if table == "purchases", values.transaction.type == "Auto-Renewable Subscription" {
            problems.append("its evidence is a period of a subscription, not a one-time purchase")
        }
        if table == "purchases", entry.text("action") == "update" {
            let refund = ["revocation_date", "revocation_reason", "revocation_percentage"]
            for column in before.names where column != "signed_date" && !refund.contains(column) {
                problems.append("its \(column) was changed: of a purchase only its refund is")
            }
        }
        if table == "subscriptions", let status = after.integer("status"),
            let reason = values.contradiction(ofStatus: status)
        {
            problems.append("its status is \(status), but \(reason)")
        }
        return problems
    }

    private func identityProblems(of entry: JSONRecord, _ values: StatedValues) -> [String] {
        var problems: [String] = []
        let id = entry.text("original_transaction_id")
        for other in [
            values.transaction.originalTransactionID, values.renewal?.originalTransactionID,
        ].compactMap(\.self) where !other.isSame(as: id) {
            problems.append(
                "its evidence is about the subscription \(other), not about \(id ?? "it")")
        }
        if Self.isTransaction(entry),
            !values.transaction.transactionID.isSame(as: entry.text("transaction_id"))
        {
            problems.append(
                "its evidence is about the transaction \(values.transaction.transactionID)")
        }
        if !values.signedDate.rfc3339.isSame(as: entry.text("apple_signed_date")) {
            problems.append(
                "its apple_signed_date is not when Apple signed, \(values.signedDate.rfc3339)")
        }
        return problems
    }
}

/// Compares a finding with the signed payload that it names.
///
/// Written from docs/findings.md and docs/report-files.md, and not from the rules that make
/// findings.
struct FindingEvidenceCheck {
    /// Kinds whose `apple_value` is the payload's value of the column in `field`.
    private static let comparing: Set<String> = [
        "expiry", "grace_missed", "identity", "latest_transaction", "ownership", "product",
        "purchase_refund_missed", "renewal_preference", "revocation_date", "seats",
        "unknown_product",
    ]
    /// Kinds whose `apple_value` is Apple's unsigned status, where `field` says so.
    private static let aboutStatus: Set<String> = [
        "access_missing", "access_unpaid", "grace_missed", "refund_reversal_missed",
        "revocation_missed", "status",
    ]
    /// Kinds whose payload may name another app or environment than the row.
    private static let aboutOthers: Set<String> = ["wrong_app", "wrong_environment"]
    /// Further kinds whose `transaction_id` is that of the payload.
    private static let aboutTransactions: Set<String> = [
        "contradiction", "invalid_id", "migrated", "missing_locally", "overlapping_subscriptions",
        "resurrected",
    ]
    /// Kinds whose amount, where there is one, is the price of the signed transaction.
    private static let priced: Set<String> = aboutStatus.union([
        "expiry", "missing_locally", "overlapping_subscriptions", "purchase_missing",
        "purchase_refund_missed", "transaction_missing",
    ])
    /// Kinds whose `apple_as_of` is when exactly this payload was signed.
    private static let datedByPayload: Set<String> = [
        "invalid_id", "migrated", "notification_lost", "notification_missed", "price",
        "purchase_missing", "purchase_refund_missed", "transaction_missing",
    ]

    let evidence: EvidenceFile
    /// The newest finding so far that doubts Apple's status of a row; findings of one row are
    /// adjacent, `contradiction` before `missing_locally`.
    private(set) var doubted: [String?] = []

    private var manifest: ManifestRecord { evidence.run.manifest }

    /// The problems of the next finding.
    mutating func problems(of finding: JSONRecord) async -> [String] {
        let problems = Self.ownProblems(of: finding)
        if finding.text("kind") == "contradiction" { doubted = Self.row(of: finding) }
        return finding.states("evidence")
            ? problems + (await evidencedProblems(of: finding)) : problems
    }

    private static func row(of finding: JSONRecord) -> [String?] {
        ["app", "environment", "original_transaction_id"].map { finding.text($0) }
    }

    /// Values that a finding states twice: kinds about a key repeat the row's key as trueup's.
    private static func ownProblems(of finding: JSONRecord) -> [String] {
        let member: String
        switch (finding.text("kind"), finding.text("field")) {
        case ("wrong_app", "bundle_id"): member = "app"
        case ("wrong_environment", "environment"): member = "environment"
        case ("invalid_id", "original_transaction_id"), ("migrated", "original_transaction_id"),
            ("overlapping_subscriptions", "original_transaction_id"),
            ("resurrected", "original_transaction_id"):
            member = "original_transaction_id"
        case ("transaction_unknown", _), ("purchase_unknown", _): member = "field"
        default: member = ""
        }
        var problems: [String] = []
        if finding.states("local_value"), !member.isEmpty,
            !JSONValue.areSame(finding["local_value"], finding[member])
        {
            problems.append("its local_value is not its \(member)")
        }
        if let action = finding.text("action"), let state = finding.text("state"),
            state != "acknowledged",
            ["corrected", "inserted", "recovered"].contains(action) != (state == "corrected")
        {
            problems.append("its action is \(action), but its state is \(state)")
        }
        return problems
    }

    private func evidencedProblems(of finding: JSONRecord) async -> [String] {
        guard let digest = finding.text("evidence"), digest.isDigest,
            let kind = finding.text("kind")
        else { return ["its evidence is not a digest"] }
        do throws(UnreadableFile) {
            // Findings of this kind say that the payload does not verify.
            if kind == "verification_failed" {
                if try evidence.lines.payload(digest) != nil { return [] }
                if try evidence.lines.erasure(of: digest) != nil { return [] }
                return ["the evidence \(digest) is not in \(EvidenceFile.name)"]
            }
            let isAboutOthers = Self.aboutOthers.contains(kind)
            let app =
                isAboutOthers ? asked(about: finding) : evidence.run.apps.app(of: finding)
            guard let app else { return [KnownApps.problem] }
            let statement = try await evidence.statement(of: digest, for: app)
            if case .erased = statement { return [] }
            if isAboutOthers { return problems(of: finding, kind: kind, about: statement) }
            if case .foreign = statement {
                return ["the evidence \(digest) is of another app"]
            }
            var problems = problems(of: finding, kind: kind, statement)
            if kind == "unknown_value", let payload = try evidence.lines.payload(digest) {
                problems += Self.unknownProblems(
                    of: finding, EvidenceVerifier.payload(of: payload))
            }
            return problems
        } catch {
            return [error.reason]
        }
    }

    /// The app that was asked about a row that may be of another one.
    private func asked(about finding: JSONRecord) -> ManifestRecord.App? {
        let own = manifest.app(
            bundleID: finding.text("app"), environment: finding.text("environment"))
        return own ?? manifest.apps.first
    }

    /// Checks what a payload says of a row under a wrong app or environment.
    ///
    /// `apple_value` is null where the payload was refused because it names the other one; it is
    /// never another one than the payload names.
    private func problems(
        of finding: JSONRecord, kind: String, about statement: EvidenceStatement
    ) -> [String] {
        if case .notification = statement { return [] }
        guard let named = statement.named else { return [] }
        var problems: [String] = []
        let id = finding.text("original_transaction_id")
        if let other = named.originalTransactionID, !other.isSame(as: id) {
            problems.append("its evidence is about \(other), not about \(id ?? "no subscription")")
        }
        let isApp = kind == "wrong_app"
        let value = isApp ? named.bundleID : named.environment
        if finding.states("apple_value"), let value,
            finding.text("apple_value").map({ !$0.isSame(as: value) }) ?? true
        {
            problems.append(
                "its apple_value is \(finding["apple_value"]?.source ?? "missing"), the signed "
                    + "payload says \(value)")
        }
        let member = isApp ? "app" : "environment"
        let isOwn =
            manifest.app(
                bundleID: finding.text("app"), environment: finding.text("environment")) != nil
        if isOwn, let value, value.isSame(as: finding.text(member)) {
            problems.append("its evidence names the row's own \(member), \(value)")
        }
        return problems + Self.dateProblems(of: finding, signed: named.signedDate)
    }

    private func problems(
        of finding: JSONRecord, kind: String, _ statement: EvidenceStatement
    ) -> [String] {
        let id = finding.text("original_transaction_id")
        let named: String? =
            switch (kind, statement) {
            case ("migrated", .transaction(let signed)): signed.previousOriginalTransactionID
            case ("invalid_id", .transaction(let signed)): signed.transactionID
            default: statement.named?.originalTransactionID
            }
        var problems: [String] = []
        if !(named.map { $0.isSame(as: id) } ?? (id == nil)) {
            problems.append(
                "its evidence is about \(named ?? "no subscription"), "
                    + "not about \(id ?? "no subscription")")
        }
        if let stated = Self.appleValue(of: kind, finding.text("field"), in: statement),
            let said = finding["apple_value"], !said.source.isSame(as: stated.rendered)
        {
            problems.append(
                "its apple_value is \(said.source), the signed payload says \(stated.rendered)")
        }
        if Self.aboutStatus.contains(kind), finding.text("field") == "status" {
            problems += Self.statusProblems(of: finding, statement)
        }
        if kind == "missing_locally" { problems += missingProblems(of: finding, statement) }
        problems += Self.statementProblems(of: finding, kind: kind, statement)
        if case .transaction(let transaction) = statement {
            problems += Self.amountProblems(of: finding, kind: kind, transaction)
        }
        return problems
    }

    /// The `apple_value` of a kind, where the payload says it; `nil` where another one does, or
    /// it is not signed.
    private static func appleValue(
        of kind: String, _ field: String?, in statement: EvidenceStatement
    ) -> CanonicalJSON? {
        if kind == "purchase_refund_missed", case .transaction(let signed) = statement {
            return field.flatMap {
                StatedValues(transaction: signed, renewal: nil).purchaseValue(of: $0)
            }
        }
        if comparing.contains(kind) { return field.flatMap { value(of: $0, in: statement) } }
        switch (kind, statement) {
        case ("migrated", .transaction(let signed)), ("invalid_id", .transaction(let signed)):
            return .string(signed.originalTransactionID)
        case ("transaction_missing", .transaction(let signed)),
            ("purchase_missing", .transaction(let signed)):
            return .string(signed.transactionID)
        case ("overlapping_subscriptions", .transaction(let signed)):
            return field == "paid_elsewhere_until" ? .time(signed.expiresDate) : nil
        case ("price", .transaction(let signed)):
            if field?.utf8.starts(with: "price:".utf8) == true {
                return signed.price.map(CanonicalJSON.integer) ?? .null
            }
            return field?.utf8.starts(with: "currency:".utf8) == true
                ? .text(signed.currency) : nil
        case ("notification_missed", .notification(let signed)),
            ("notification_lost", .notification(let signed)):
            return .string(signed.notificationType + (signed.subtype.map { "." + $0 } ?? ""))
        default: return nil
        }
    }

    /// Apple signs no status, but the transaction alone denies some.
    private static func statusProblems(
        of finding: JSONRecord, _ statement: EvidenceStatement
    ) -> [String] {
        guard case .transaction(let transaction) = statement else { return [] }
        guard let status = finding.integer("apple_value") else {
            return ["its apple_value is not a status"]
        }
        return denial(of: status, transaction).map { ["its apple_value is \(status), but \($0)"] }
            ?? []
    }

    private static func denial(of status: Int64, _ transaction: SignedTransaction) -> String? {
        StatedValues(transaction: transaction, renewal: nil)
            .contradictionByTransaction(ofStatus: status)
    }

    /// A purchase that is not in the table is critical where Apple's status gives access and
    /// nothing signed denies it.
    ///
    /// A status that is denied has a finding of its own next to this one; a filtered run may leave
    /// that out.
    private func missingProblems(
        of finding: JSONRecord, _ statement: EvidenceStatement
    ) -> [String] {
        guard case .transaction(let transaction) = statement else { return [] }
        guard let status = finding.integer("apple_value") else {
            return ["its apple_value is not a status"]
        }
        var problems: [String] = []
        let isDoubted = manifest.isPartial || doubted == Self.row(of: finding)
        let denial = Self.denial(of: status, transaction)
        let isCritical = finding.text("severity") == "critical"
        if let denial, isCritical || !isDoubted {
            problems.append("its apple_value is \(status), but \(denial)")
        }
        let entitles = [1, 4].contains(status)
        if isCritical ? !entitles : entitles && denial == nil && !isDoubted {
            problems.append(
                "its severity is \(finding.text("severity") ?? "missing"), but its status is "
                    + "\(status)")
        }
        if finding.names.contains("product_id"), let product = transaction.productID,
            finding.text("product_id").map({ !$0.isSame(as: product) }) ?? true
        {
            problems.append(
                "its product_id is \(finding["product_id"]?.source ?? "missing"), the signed "
                    + "payload says \(product)")
        }
        return problems
    }

    /// Which payload it is about, and when Apple said so.
    private static func statementProblems(
        of finding: JSONRecord, kind: String, _ statement: EvidenceStatement
    ) -> [String] {
        guard let signed = statement.named?.signedDate else { return [] }
        var problems: [String] = []
        var identity: (member: String, value: String)?
        switch statement {
        case .transaction(let transaction):
            if comparing.contains(kind) || aboutStatus.contains(kind)
                || aboutTransactions.contains(kind)
            {
                identity = ("transaction_id", transaction.transactionID)
            } else if kind == "transaction_missing" || kind == "purchase_missing" {
                identity = ("field", transaction.transactionID)
            }
        case .notification(let notification):
            if ["notification_missed", "notification_lost"].contains(kind) {
                identity = ("field", notification.notificationUUID)
            }
        case .renewal, .foreign, .erased: break
        }
        if let identity, finding.states(identity.member),
            !identity.value.isSame(as: finding.text(identity.member))
        {
            let what = identity.member == "transaction_id" ? "of the transaction" : "of"
            problems.append(
                "its evidence is \(what) \(identity.value), not of its \(identity.member)")
        }
        if datedByPayload.contains(kind), finding.states("apple_as_of"),
            !signed.rfc3339.isSame(as: finding.text("apple_as_of"))
        {
            problems.append(
                "its apple_as_of is not when Apple signed its evidence, \(signed.rfc3339)")
        } else if kind != "unknown_value" {
            problems += dateProblems(of: finding, signed: signed)
        }
        return problems
    }

    /// When Apple said so is the earlier of two signatures, of which the payload has one.
    private static func dateProblems(of finding: JSONRecord, signed: Timestamp?) -> [String] {
        guard let signed,
            let said = finding.text("apple_as_of").flatMap({ Timestamp(rfc3339: $0) }),
            said > signed
        else { return [] }
        return ["its apple_as_of is after Apple signed its evidence, \(signed.rfc3339)"]
    }

    private static func amountProblems(
        of finding: JSONRecord, kind: String, _ transaction: SignedTransaction
    ) -> [String] {
        guard finding.names.contains("amount") else { return [] }
        let price = transaction.price
        if priced.contains(kind) {
            let currency = price == nil ? nil : transaction.currency
            guard finding.integer("amount") == price,
                (finding.text("currency") ?? "").isSame(as: currency ?? "")
            else { return ["its amount is not the price that Apple signed"] }
        }
        // A finding of another price states what the two differ by, if it can be told.
        if kind == "price", finding.states("amount") {
            let ours = finding.integer("local_value")
            let difference = price.flatMap { price in
                ours.map { price.subtractingReportingOverflow($0) }
            }
            guard let difference, !difference.overflow,
                finding.integer("amount")?.magnitude == difference.partialValue.magnitude,
                (finding.text("currency") ?? "").isSame(as: transaction.currency ?? "")
            else { return ["its amount is not what the price that Apple signed differs by"] }
        }
        return []
    }

    /// An unknown field of a payload is in it, with the value that the finding lists.
    ///
    /// Whether this version knows it by now does not matter.
    private static func unknownProblems(
        of finding: JSONRecord, _ payload: JSONRecord?
    ) -> [String] {
        guard let parts = finding.text("field")?.split(separator: "."), parts.count == 2,
            ["transaction", "renewalInfo"].contains(parts[0])
        else { return [] }
        let name = String(parts[1])
        guard let member = payload?[name] else {
            return ["its evidence has no field \(name)"]
        }
        // Of a text the finding lists the beginning, and control characters and what JSON escapes
        // in another form.
        let value = (member.text ?? member.integer.map(String.init)).map { text in
            let plain = text.unicodeScalars.prefix {
                $0.properties.generalCategory != .control && $0 != "\"" && $0 != "\\"
            }
            return String(String.UnicodeScalarView(plain.prefix(comparedLength)))
        }
        if let value, let said = finding.text("apple_value"), !said.contains(value) {
            return ["its apple_value is \(said), the signed payload says \(value)"]
        }
        return []
    }

    /// How much of an unknown text is compared; findings list at least so much.
    private static let comparedLength = 40

    private static func value(of field: String, in statement: EvidenceStatement) -> CanonicalJSON? {
        switch statement {
        case .transaction(let transaction):
            StatedValues(transaction: transaction, renewal: nil).subscriptionValue(of: field)
        case .renewal(let renewal): StatedValues.renewalValue(of: field, in: renewal)
        case .notification, .foreign, .erased: nil
        }
    }
}
