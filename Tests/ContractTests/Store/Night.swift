import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// A run on a store, as a contract tells it.
struct Night {
    static let start = Timestamp(unixMilliseconds: 1_790_000_000_000)
    static let hour: Int64 = 3_600_000

    let store: SQLiteStore
    let run: RunHeader
    let pass: OpenPass

    static func header(
        _ id: String, mode: RunMode = .apply, after hours: Int64 = 0, job: String = "nightly",
        _ change: (inout RunHeader) -> Void = { _ in }
    ) -> RunHeader {
        var header = RunHeader(
            runID: id, job: job, mode: mode, started: start.adding(milliseconds: hours * hour),
            apps: [app], actor: "ops@host", toolVersion: "1.0", settingsDigest: "digest",
            filters: [], notFoundConfirmations: 3)
        change(&header)
        return header
    }

    init(_ place: SQLitePlace, _ run: RunHeader) async throws {
        store = place.store
        self.run = run
        pass = try await store.begin(run)
    }

    init(_ place: SQLitePlace, _ id: String, after hours: Int64 = 0) async throws {
        try await self.init(place, Self.header(id, after: hours))
    }

    func stage(
        _ outcomes: RowOutcome..., through: String? = nil, asksAgain: [String] = [],
        marks: [SubscriptionKey: HistoryMark] = [:], replaces: Bool = false
    ) async throws {
        var batch = StagedBatch(outcomes: outcomes)
        batch.asksAgain = asksAgain.map(key)
        batch.historyMarks = marks
        batch.walkedThrough = through.map(key)
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

    func conclude(
        closes: Bool = true, acceptedRows: Int? = nil, endsRound: Bool? = nil
    ) async throws {
        var conclusion = RunConclusion(
            ended: run.started.adding(milliseconds: 1000), statuses: [.ok], messages: [],
            limits: [], calls: [], closesPass: closes, settlesUnreached: !closes)
        conclusion.acceptedTableRows = acceptedRows
        if let endsRound { conclusion.endsRound = endsRound }
        try await store.conclude(conclusion, in: pass, run: run)
    }

    func settled(_ ids: String...) async throws -> Set<String> {
        try await Set(
            store.settled(among: ids.map(key), in: pass).map(\.originalTransactionID))
    }

    func row(_ id: String) async throws -> StoredSubscription? {
        try await store.rows(holding: [id]).first
    }
}

let app = AppIdentity(bundleID: "com.example.app", environment: .production)

func key(_ id: String) -> SubscriptionKey { SubscriptionKey(app: app, originalTransactionID: id) }

func subscription(
    _ id: String, status: Int = 1, signed: Int64 = 1000, customer: String? = nil
) -> LocalSubscription {
    var row = LocalSubscription(key: key(id))
    row.status = status
    row.customerID = customer
    row.signedDate = Timestamp(unixMilliseconds: signed)
    return row
}

func payload(_ text: String) -> SignedPayload { .made(of: text) }

func outcome(_ id: String, _ verdict: Verdict?) -> RowOutcome {
    RowOutcome(key: key(id), verdict: verdict)
}

/// A row whose status Apple states otherwise: one finding and the correction that mends it.
func drift(
    _ id: String, version: Int64, from before: Int64 = 1, to status: Int64 = 2,
    signedBefore: Int64 = 1000, signed: Int64 = 5000
) -> RowOutcome {
    var result = outcome(id, .discrepancy)
    let evidence = payload("transaction \(id) \(status)")
    var finding = Finding(
        kind: .accessUnpaid, severity: .high, row: LocalSubscription(key: key(id)))
    finding.field = "status"
    finding.evidence = evidence.digest
    result.findings = [finding]
    result.corrections = [
        PlannedCorrection(
            target: .update(key(id), expectedRowVersion: version),
            changes: .subscription([
                .status: FieldChange(before: .integer(before), after: .integer(status)),
                .signedDate: FieldChange(
                    before: .time(Timestamp(unixMilliseconds: signedBefore)),
                    after: .time(Timestamp(unixMilliseconds: signed))),
            ]), kinds: [.accessUnpaid], evidence: evidence.digest, evidenceRenewal: nil,
            appleSignedDate: Timestamp(unixMilliseconds: signed), reason: "Apple says otherwise.")
    ]
    result.evidence = [evidence]
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

/// A subscription that Apple shows and nobody holds.
func missing(_ id: String) -> RowOutcome {
    var result = outcome(id, nil)
    let evidence = payload("missing \(id)")
    var finding = Finding(
        kind: .missingLocally, severity: .critical, bundleID: app.bundleID,
        environment: app.environment.rawValue)
    finding.key = key(id)
    finding.evidence = evidence.digest
    result.findings = [finding]
    result.corrections = [
        PlannedCorrection(
            target: .insert(key(id)),
            changes: .subscription([.status: FieldChange(before: .null, after: .integer(1))]),
            kinds: [.missingLocally], evidence: evidence.digest, evidenceRenewal: nil,
            appleSignedDate: Timestamp(unixMilliseconds: 5000), reason: "Apple shows it.")
    ]
    result.evidence = [evidence]
    return result
}
