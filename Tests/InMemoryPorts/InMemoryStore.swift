import ReconciliationRun
package import Subscriptions
import Synchronization

/// The company's rows and our books in dictionaries: every promise of the run's ports, without a
/// file and without SQL.
///
/// What only SQLite needs is left out: evidence is kept by its digest alone, and identities are
/// short hashes that nobody should trust.
package final class InMemoryStore: Sendable {
    let state = Mutex(State())

    package init() {}

    /// One method of a port: whole or not at all, like a transaction.
    ///
    /// From the call on at which the process dies, every one fails until the next begins.
    func transaction<Value: Sendable>(
        _ body: (inout State) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = state.withLock { state in
            state.calls += 1
            if let last = state.lastCall, state.calls > last { return .failure(Self.killed) }
            let before = state
            do throws(StoreError) {
                return .success(try body(&state))
            } catch {
                state = before
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// What every call ends with after the process was killed.
    package static let killed = StoreError.unavailable("killed")

    /// Kills the process after so many more calls.
    package func kill(afterCalls count: Int) {
        state.withLock { $0.lastCall = $0.calls + count }
    }

    /// A new process has the database.
    package func restart() { state.withLock { $0.lastCall = nil } }

    /// How many calls the ports have taken so far.
    package var calls: Int { state.withLock { $0.calls } }
}

extension InMemoryStore: CompanyTable, RowNotesBook, RunBook, PassBook, AgendaBook, RecoveryBook,
    StoredPlans,
    PlanLedger, CanaryBook, CauseBook
{}

/// Everything that is stored.
struct State {
    var calls = 0
    var lastCall: Int?
    var table = Table()
    var notes: [SubscriptionKey: RowNotes] = [:]
    /// Whose the judged rows are, and what they pay for.
    var payers: [SubscriptionKey: Payer] = [:]
    var agenda: [SubscriptionKey: Owed] = [:]
    /// When the first run of an unfinished round began, by job.
    var rounds: [String: Timestamp] = [:]
    /// The findings that were open after the last run that looked.
    var open: [String: Finding] = [:]
    /// The jobs that have reported a finding.
    var reportedBy: [String: Set<String>] = [:]
    var runs: [Run] = []
    var passes: [Int64: Pass] = [:]
    var watermarks: [AppIdentity: Timestamp] = [:]
    var inbox: [AppIdentity: [String: InboxRecord]] = [:]
    var evidence: Set<EvidenceDigest> = []
    var ledger: [LedgerEntry] = []
    /// The newest entry that a concluded run has reported.
    var reportedThrough: Int64 = 0
    var plans: [String: Plan] = [:]
    /// Sizes of the table that runs accepted, the newest last.
    var tableSizes: [Int] = []
    private var lastNumber: Int64 = 0

    /// A number that was never given before.
    mutating func number() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    struct Run {
        let header: RunHeader
        let passID: Int64
        var lifts: [GuardLift] = []
        /// The identity of the plan that it sealed.
        var plan: String?
        var causes: [Int64: String] = [:]
        var conclusion: RunConclusion?
        var report = StoredReport()
    }

    /// What must be asked, whoever asks.
    struct Owed {
        var reason: QuestionReason
        var turn: Int64
        var restsOn: Timestamp?
        /// Runs in a row whose answer may be wrong once.
        var doubts = 0
        /// The day, since 1970, on which the question comes again.
        var restsUntil: Int64?

        func isAsked(at now: Timestamp) -> Bool {
            restsUntil.map { $0 <= now.unixMilliseconds / 86_400_000 } ?? true
        }
    }

    struct Plan {
        let seal: PlanSeal
        let passID: Int64
        let runID: String
    }

    /// The run as a port names it.
    func run(_ header: RunHeader, in pass: OpenPass) throws(StoreError) -> Int {
        let found = runs.firstIndex {
            $0.header.runID == header.runID && $0.passID == pass.passID
        }
        guard let found, passes[pass.passID] != nil else {
            throw .inconsistent("The run \(header.runID) was not begun in this pass.")
        }
        return found
    }
}

/// What a pass holds.
struct Pass {
    enum Standing { case open, closed, dropped }

    let began: RunHeader
    var standing = Standing.open
    var recovered: [AppIdentity] = []
    var histories: [AppIdentity: NotificationWindow] = [:]
    var walkedThrough: SubscriptionKey?
    var rows: [SubscriptionKey: Judged] = [:]
    var findings: [StagedFinding] = []
    var corrections: [StagedCorrection] = []
    /// What the pass alone asks, by key and reason.
    var questions: [SubscriptionKey: [State.Owed]] = [:]
    var scheduled: ScheduleCounts?
    var traced: [SubscriptionKey: [TracedNotification]] = [:]
    var marks: [SubscriptionKey: HistoryMark] = [:]
    var canary: Set<SubscriptionKey> = []
    /// The earlier plan that it works off, or the run that it takes back.
    var plan: PlanHead?
    var undoOf: String?

    struct Judged: Hashable {
        /// `nil` where something was said of a subscription that is no row in scope.
        var verdict: Verdict?
        var isAbsent = false
        var asksAgain = false
        /// This pass inserted it: it was no row when the pass began.
        var isInserted = false
        var because: QuestionReason?
        var check: RowCheck?
        var payer: Payer?
        var look = LookDepth.nothing
        var isDoubtful = false

        var isSettled: Bool { verdict != nil || isInserted }
    }

    struct StagedFinding {
        let sequence: Int64
        var finding: Finding
        let outcome: SubscriptionKey?
        var correction: Int64?
        /// Taken over from an earlier night that nobody contradicts.
        var isCarried = false
        var isSuperseded = false
    }

    struct StagedCorrection {
        let number: Int64
        let correction: PlannedCorrection
        var fate = CorrectionFate.planned
        var isSuperseded = false

        var key: SubscriptionKey { correction.subscription }
    }

    func isSettled(_ key: SubscriptionKey) -> Bool { rows[key]?.isSettled ?? false }

    /// What counts of the corrections, in the order in which they are written and listed.
    var valid: [StagedCorrection] {
        corrections.filter { !$0.isSuperseded }
            .sorted { ($0.key, $0.number) < ($1.key, $1.number) }
    }

    func fate(of correction: Int64?) -> CorrectionFate? {
        correction.flatMap { number in corrections.first { $0.number == number }?.fate }
    }

    mutating func note(_ fate: CorrectionFate, of number: Int64) {
        for index in corrections.indices where corrections[index].number == number {
            corrections[index].fate = fate
        }
    }
}

/// What a concluded run says of the pass, for tests to look at.
package struct StoredReport: Hashable, Sendable {
    package var totals = RunTotals()
    package var undecided: [SubscriptionKey: UndecidedReason] = [:]
    /// Numbers of the ledger entries that it shows.
    package var entries: [Int64] = []
    package var kinds: [FindingKind] = []
    package var causes: [String] = []

    package init() {}
}

/// A short text that tells contents apart, in place of a cryptographic digest.
func fingerprint(_ text: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 64 - digits.count) + digits
}
