import Crypto
import Foundation
import SubscriptionStore
import Subscriptions

/// A run on a database, written as a test tells it.
struct Night {
    let store: SQLiteStore
    let run: RunHeader
    let pass: OpenPass
    /// Kept as long as the night, where the test does not hold it.
    var database: TemporaryDatabase?

    static let start: Int64 = 1_790_000_000_000

    static func header(
        _ id: String, mode: RunMode = .apply, at milliseconds: Int64 = start,
        job: String = "nightly"
    ) -> RunHeader {
        RunHeader(
            runID: id, job: job, mode: mode, started: Timestamp(unixMilliseconds: milliseconds),
            apps: [app], actor: "ops@host", toolVersion: "1.0", settingsDigest: "digest",
            filters: [], notFoundConfirmations: 3)
    }

    static func begin(_ store: SQLiteStore, _ run: RunHeader) async throws -> Night {
        Night(store: store, run: run, pass: try await store.begin(run))
    }

    func stage(
        _ outcomes: RowOutcome..., through: String? = nil, asksAgain: [String] = [],
        replaces: Bool = false, revisions: [String: String] = [:]
    ) async throws {
        var marks: [SubscriptionKey: HistoryMark] = [:]
        for (id, revision) in revisions {
            let row = try await store.rows(holding: [id]).first
            marks[key(id)] = HistoryMark(revision: revision, periods: row?.periodsDigest)
        }
        var batch = StagedBatch(outcomes: outcomes)
        batch.asksAgain = asksAgain.map { key($0) }
        batch.historyMarks = marks
        batch.walkedThrough = through.map { key($0) }
        batch.replaces = replaces
        try await store.stage(batch, in: pass, run: run)
    }

    @discardableResult
    func apply(limit: Int = 100) async throws -> Int {
        var total = 0
        while true {
            let taken = try await store.applyPlanned(
                limit: limit, in: pass, run: run, at: run.started)
            if taken == 0 { return total }
            total += taken
        }
    }

    @discardableResult
    func conclude(closes: Bool = true, status: ExitStatus = .ok) async throws -> SQLiteRunRecord {
        try await store.conclude(
            RunConclusion(
                ended: run.started.adding(milliseconds: 1000), statuses: [status],
                messages: ["done"], limits: [],
                calls: [CallCount(endpoint: "subscription_statuses", result: "ok", calls: 3)],
                closesPass: closes, settlesUnreached: !closes), in: pass, run: run)
        return try store.runRecord(ofRun: run.runID)
    }

    func ids(after position: String? = nil) async throws -> [String] {
        let keys = try await store.rows(after: position.map { key($0) }, limit: 100)
            .map(\.row.key)
        let settled = try await store.settled(among: keys, in: pass)
        return keys.filter { !settled.contains($0) }.map(\.originalTransactionID)
    }
}

/// A payload with its true digest; the header is Apple's constant one in all of them.
func payload(_ text: String) -> SignedPayload {
    let body = Data(text.utf8).base64EncodedString().filter { $0 != "=" }
    let jws = "eyJhbGciOiJFUzI1NiJ9." + body + "." + String(repeating: "A", count: 86)
    return SignedPayload(digest: payloadDigest(of: jws), jws: jws)
}

func payloadDigest(of jws: String) -> EvidenceDigest {
    let digits = SHA256.hash(data: Array(jws.utf8)).map { byte in
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return EvidenceDigest(hexadecimal: digits.joined())
}

func outcome(_ id: String, _ verdict: Verdict?) -> RowOutcome {
    RowOutcome(key: key(id), verdict: verdict)
}

/// A row whose status Apple states otherwise: one finding and the correction that mends it.
func drift(
    _ id: String, version: Int64 = 1, from before: (status: Int64, signed: Int64) = (1, 1000),
    to status: Int64 = 2, signed: Int64 = 5000
) -> RowOutcome {
    var result = outcome(id, .discrepancy)
    let evidence = payload("transaction\(id)-\(status)")
    let renewal = payload("renewal\(id)-\(status)")
    var finding = Finding(
        kind: .accessUnpaid, severity: .high, row: LocalSubscription(key: key(id)))
    finding.field = "status"
    finding.localValue = .integer(1)
    finding.appleValue = .integer(status)
    finding.evidence = evidence.digest
    finding.amount = 990
    finding.currency = "EUR"
    finding.direction = .companyLoses
    result.findings = [finding]
    result.corrections = [
        PlannedCorrection(
            target: .update(key(id), expectedRowVersion: version),
            changes: .subscription([
                .status: FieldChange(before: .integer(before.status), after: .integer(status)),
                .signedDate: FieldChange(
                    before: .time(Timestamp(unixMilliseconds: before.signed)),
                    after: .time(Timestamp(unixMilliseconds: signed))),
            ]), kinds: [.accessUnpaid], evidence: evidence.digest, evidenceRenewal: renewal.digest,
            appleSignedDate: Timestamp(unixMilliseconds: signed), reason: "Apple says otherwise.")
    ]
    result.evidence = [evidence, renewal]
    return result
}

extension PlannedCorrection {
    /// Rewrites the changes of a subscription's row.
    mutating func rewrite(_ body: (inout [SubscriptionField: FieldChange]) -> Void) {
        var rewritten = changes.ofSubscription
        body(&rewritten)
        changes = .subscription(rewritten)
    }
}

/// A subscription that Apple shows and we do not hold.
func missing(_ id: String) -> RowOutcome {
    var result = outcome(id, nil)
    let evidence = payload("missing\(id)")
    var finding = Finding(
        kind: .missingLocally, severity: .critical, bundleID: app.bundleID,
        environment: app.environment.rawValue)
    finding.key = key(id)
    finding.evidence = evidence.digest
    result.findings = [finding]
    result.corrections = [
        PlannedCorrection(
            target: .insert(key(id)),
            changes: .subscription([
                .originalTransactionID: FieldChange(before: .null, after: .text(id)),
                .status: FieldChange(before: .null, after: .integer(1)),
                .productID: FieldChange(before: .null, after: .text("pro")),
            ]), kinds: [.missingLocally], evidence: evidence.digest, evidenceRenewal: nil,
            appleSignedDate: Timestamp(unixMilliseconds: 5000), reason: "Apple shows it.")
    ]
    result.evidence = [evidence]
    return result
}

extension SQLiteRunRecord {
    func findings() throws -> [ReportedFinding] {
        var found: [ReportedFinding] = []
        try forEachFinding { found.append($0) }
        return found
    }

    func entries() throws -> [LedgerEntry] {
        var found: [LedgerEntry] = []
        try forEachCorrection { found.append($0) }
        return found
    }

    func fates() throws -> [CorrectionFate] {
        var found: [CorrectionFate] = []
        try forEachPlanned { found.append($1) }
        return found
    }

    func undecided() throws -> [String: UndecidedReason] {
        var found: [String: UndecidedReason] = [:]
        try forEachUndecided { found[$0.key.originalTransactionID] = $0.reason }
        return found
    }

    func evidence() throws -> [SignedPayload] {
        var found: [SignedPayload] = []
        try forEachEvidence { if case .payload(let payload) = $0 { found.append(payload) } }
        return found
    }

    func tombstones() throws -> [EvidenceTombstone] {
        var found: [EvidenceTombstone] = []
        try forEachEvidence { if case .erased(let tombstone) = $0 { found.append(tombstone) } }
        return found
    }
}
