import Reconciliation
import Subscriptions
import Testing

/// A stored period with an empty column: not known yet, and filled in from the transaction that the
/// row is.
@Suite struct `Period fill` {
    private let current = Sample.stated().transaction

    private func earlier(_ change: (inout SignedTransaction) -> Void = { _ in })
        -> SignedTransaction
    {
        var transaction = current
        transaction.evidence = Sample.payload("earlier period")
        transaction.transactionID = "5001"
        transaction.webOrderLineItemID = "6001"
        transaction.purchaseDate = Sample.now(days: -40)
        transaction.expiresDate = Sample.now(days: -10)
        transaction.revocationDate = Sample.now(days: -20)
        transaction.revocationReason = 1
        transaction.offerType = 2
        transaction.price = 4_990
        change(&transaction)
        return transaction
    }

    private func item(
        _ periods: [LocalTransaction], history: HistoryReading? = nil, revision: String? = nil,
        row: LocalSubscription = Sample.row()
    ) -> Case {
        Sample.item(row, [Sample.stated()]) {
            $0.asked?.periods = periods
            $0.asked?.historyRevision = revision
            $0.history = history
        }
    }

    /// The stored current period, and an earlier one without these columns.
    private func held(without fields: Set<TransactionField>) -> [LocalTransaction] {
        [Sample.period(of: current), Sample.period(of: earlier()).emptied(of: fields)]
    }

    private func fills(_ outcome: RowOutcome) -> [PlannedCorrection] {
        outcome.corrections.filter { $0.table == "transactions" && $0.action == .update }
    }

    @Test(arguments: TransactionField.fillable)
    func `an empty column is filled in from Apple's history, and the row matches`(
        field: TransactionField
    ) throws {
        let history = HistoryReading.complete([current, earlier()])
        let outcome = try outcome(item(held(without: [field]), history: history))
        #expect(outcome.verdict == .match)
        #expect(outcome.findings.isEmpty)
        #expect(outcome.hasAllEvidence)
        let correction = try #require(outcome.corrections.first)
        #expect(outcome.corrections.count == 1)
        let whole = Sample.period(of: earlier())
        #expect(correction.target == .updatePeriod(whole.key, of: Sample.row().key))
        #expect(
            correction.changes
                == .period([
                    field: FieldChange(before: .null, after: whole.value(of: field))
                ]))
        #expect(correction.evidence == earlier().evidence.digest)
        #expect(correction.evidenceRenewal == nil)
        #expect(correction.appleSignedDate == earlier().signedDate)
        #expect(correction.kinds.isEmpty)
        #expect(correction.rules.map(\.rule.name) == ["ColumnFill"])
        #expect(correction.reason.contains(field.rawValue))
        #expect(!correction.endsAccess && !correction.givesAccess)
        #expect(try self.outcome(of: held(without: []), history).corrections.isEmpty)
    }

    private func outcome(
        of periods: [LocalTransaction], _ history: HistoryReading? = nil,
        _ policy: Policy = Sample.policy()
    ) throws -> RowOutcome {
        try outcome(item(periods, history: history), policy)
    }

    private func outcome(_ item: Case, _ policy: Policy = Sample.policy()) throws -> RowOutcome {
        try ReconciliationTests.outcome(item, policy)
    }

    @Test func `the current period needs no history`() throws {
        let periods = [Sample.period(of: current).emptied(of: [.price, .expiresDate])]
        #expect(nextQuestion(for: item(periods), policy: Sample.policy()) == nil)
        let fill = try #require(fills(try outcome(of: periods)).first)
        #expect(Set(fill.changes.ofPeriod.keys) == [.price, .expiresDate])
        let never = Sample.policy { $0.history = .never }
        #expect(fills(try outcome(of: periods, nil, never)).count == 1)
    }

    @Test func `the history is asked once for what no answer has stated yet`() {
        let empty = held(without: [.expiresDate])
        let policy = Sample.policy()
        #expect(nextQuestion(for: item(empty), policy: policy) == .history(after: nil))
        // Read with the periods as they are, it stated nothing more.
        #expect(nextQuestion(for: item(empty, revision: "r1"), policy: policy) == nil)
        #expect(nextQuestion(for: item(held(without: [])), policy: policy) == nil)
        let rightlyEmpty: Set<TransactionField> = [
            .revocationDate, .revocationReason, .offerType, .signedDate,
        ]
        #expect(nextQuestion(for: item(held(without: rightlyEmpty)), policy: policy) == nil)
        let narrowed = Sample.policy { $0.onlyKinds = [.expiry] }
        #expect(nextQuestion(for: item(empty), policy: narrowed) == nil)
    }

    @Test func `another transaction of the same line item fills nothing in`() throws {
        let restored = earlier {
            $0.transactionID = "5002"
            $0.evidence = Sample.payload("restored")
        }
        let empty = held(without: [.price, .purchaseDate])
        #expect(try outcome(of: empty, .complete([current, restored])).corrections.isEmpty)
        let both = try outcome(of: empty, .complete([current, restored, earlier()]))
        #expect(fills(both).map(\.evidence) == [earlier().evidence.digest])
    }

    @Test func `of two statements the later signed one fills`() throws {
        let later = earlier {
            $0.evidence = Sample.payload("later")
            $0.signedDate = Sample.now(milliseconds: -100)
            $0.price = 1_990
        }
        for pages in [[earlier(), later], [later, earlier()]] {
            let outcome = try outcome(of: held(without: [.price]), .complete([current] + pages))
            #expect(fills(outcome).first?.changes.ofPeriod[.price]?.after == .integer(1_990))
            #expect(fills(outcome).first?.evidence == later.evidence.digest)
        }
    }

    @Test func `a value that differs stays, and a price is not filled into another currency`()
        throws
    {
        var period = Sample.period(of: earlier()).emptied(of: [.price, .productID])
        period.currency = "USD"
        period.expiresDate = Sample.now(days: -99)
        let history = HistoryReading.complete([current, earlier()])
        let outcome = try outcome(of: [Sample.period(of: current), period], history)
        #expect(outcome.kinds == [.price])
        #expect(fills(outcome).map { Set($0.changes.ofPeriod.keys) } == [[.productID]])

        var priced = Sample.period(of: earlier()).emptied(of: [.currency])
        priced.price = 1
        let other = try self.outcome(of: [Sample.period(of: current), priced], history)
        #expect(other.kinds == [.price])
        #expect(other.corrections.isEmpty)
    }

    @Test func `a reason is not filled in beside another revocation`() throws {
        var period = Sample.period(of: earlier()).emptied(of: [.revocationReason])
        period.revocationDate = Sample.now(days: -1)
        let history = HistoryReading.complete([current, earlier()])
        #expect(try outcome(of: [Sample.period(of: current), period], history).corrections.isEmpty)
    }

    @Test func `an older statement than the period rests on adds nothing`() throws {
        var period = Sample.period(of: earlier()).emptied(of: [.price])
        let history = HistoryReading.complete([current, earlier()])
        let isFilled = { (signed: Timestamp) throws -> Bool in
            period.signedDate = signed
            let periods = [Sample.period(of: current), period]
            return !self.fills(try self.outcome(of: periods, history)).isEmpty
        }
        #expect(try isFilled(earlier().signedDate))
        #expect(try !isFilled(earlier().signedDate.adding(milliseconds: 1)))
    }

    @Test func `when it was signed is filled in only beside something else that agrees`() throws {
        let history = HistoryReading.complete([current, earlier()])
        #expect(try outcome(of: held(without: [.signedDate]), history).corrections.isEmpty)
        let empty = held(without: [.signedDate, .price])
        let fill = try #require(fills(try outcome(of: empty, history)).first)
        #expect(fill.changes.ofPeriod[.signedDate]?.after == .time(earlier().signedDate))
        var differing = empty
        differing[1].productID = "silver.monthly"
        let other = try #require(fills(try outcome(of: differing, history)).first)
        #expect(Set(other.changes.ofPeriod.keys) == [.price])
    }

    @Test func `empty text stands in the ledger as it stood in the period`() throws {
        var periods = held(without: [.price, .currency])
        periods[1].emptyTexts = [.currency]
        let outcome = try outcome(of: periods, .complete([current, earlier()]))
        let changes = try #require(fills(outcome).first).changes.ofPeriod
        #expect(changes[.currency]?.before == .text(""))
        #expect(changes[.price]?.before == .null)
    }

    @Test func `a value that cannot be read is neither filled in nor are others beside it`() throws
    {
        var periods = held(without: [.price, .currency])
        periods[1].unreadable = [.price: "ten"]
        let outcome = try outcome(of: periods, .complete([current, earlier()]))
        #expect(outcome.verdict == .undecided(.unreadableValue))
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `columns that are only reported stay empty, but for price and currency`() throws {
        let policy = Sample.policy { $0.reportOnlyFields = ["price", "currency", "expires_date"] }
        let empty = held(without: [.price, .expiresDate])
        let outcome = try outcome(of: empty, .complete([current, earlier()]), policy)
        #expect(fills(outcome).map { Set($0.changes.ofPeriod.keys) } == [[.price]])
        let unasked = held(without: [.expiresDate])
        #expect(nextQuestion(for: item(unasked), policy: policy) == nil)
    }

    @Test func `nothing is filled in of a row that may not be written, and it is still owed`()
        throws
    {
        let empty = held(without: [.price])
        let history = HistoryReading.complete([current, earlier()])
        let row = Sample.row { $0.appAccountToken = "00000000-0000-4000-8000-000000000001" }
        let foreign = try outcome(item(empty, history: history, row: row))
        #expect(foreign.corrections.isEmpty)
        #expect(foreign.leavesPeriodsEmpty)
        let narrowed = try outcome(
            of: empty, history, Sample.policy { $0.onlyKinds = [.transactionMissing] })
        #expect(narrowed.corrections.isEmpty)
        #expect(try !outcome(of: empty, history).leavesPeriodsEmpty)
        #expect(try !outcome(of: held(without: []), history).leavesPeriodsEmpty)
    }

    @Test func `a corrected row's periods are filled in, too`() throws {
        let row = Sample.row { $0.status = 2 }
        let outcome = try outcome(
            item(held(without: [.price]), history: .complete([current, earlier()]), row: row))
        #expect(outcome.kinds == [.accessMissing])
        #expect(outcome.corrections.map(\.table) == ["subscriptions", "transactions"])
    }
}
