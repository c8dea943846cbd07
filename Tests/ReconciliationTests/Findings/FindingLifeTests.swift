import Reconciliation
import Subscriptions
import Testing

/// A finding that three runs have listed, and the run 7 with the checkpoint 40, which ends now.
private let ended = Timestamp(unixMilliseconds: 7_000)

private func remembered(
    _ kind: FindingKind = .status, _ state: FindingState? = .open, correctedBy: Int64? = nil
) -> RememberedFinding {
    RememberedFinding(
        findingID: "a", kind: kind.rawValue, severity: "high", bundleID: "com.example.app",
        environment: "Production", originalTransactionID: "1",
        firstSeen: Timestamp(unixMilliseconds: 1_000), lastSeen: Timestamp(unixMilliseconds: 3_000),
        checkpoint: 30, correctedBy: correctedBy, state: state)
}

private func listed(
    _ state: FindingState, severity: String = "high", isRepeated: Bool = false
) -> FindingLife.Listed {
    var finding = remembered(.status, state, correctedBy: state == .corrected ? 7 : nil)
    finding.severity = severity
    finding.firstSeen = ended
    finding.lastSeen = ended
    finding.checkpoint = 40
    return FindingLife.Listed(finding, isRepeated: isRepeated)
}

private func examination(
    _ row: FindingExamination.Row? = nil, _ change: (inout FindingExamination) -> Void = { _ in }
) -> FindingExamination {
    var examined = FindingExamination()
    examined.row = row
    examined.isStored = true
    change(&examined)
    return examined
}

private func life(
    _ closing: FindingLife.Closing = .examined(acceptsTable: true)
) -> FindingLife { FindingLife(checkpoint: 40, closing: closing) }

@Suite struct `The life of a finding that a run lists` {
    @Test(arguments: FindingState.allCases)
    func `a new one is remembered as it is listed`(state: FindingState) {
        let line = listed(state)
        #expect(life().advance(remembered: nil, found: [line], examined: nil) == line.finding)
    }

    @Test(arguments: FindingState.allCases, FindingState.allCases + [nil])
    func `a known one keeps its first day and takes the rest from the list`(
        state: FindingState, before: FindingState?
    ) throws {
        let result = try #require(
            life().advance(
                remembered: remembered(.status, before), found: [listed(state, severity: "low")],
                examined: nil))
        #expect(result.state == state)
        #expect(result.firstSeen == Timestamp(unixMilliseconds: 1_000))
        #expect(result.lastSeen == ended)
        #expect(result.severity == "low")
        #expect(result.checkpoint == 40)
        #expect(result.correctedBy == (state == .corrected ? 7 : nil))
    }

    @Test func `the newest correction is remembered after the finding came back`() {
        let result = life().advance(
            remembered: remembered(.status, .corrected, correctedBy: 2),
            found: [listed(.recurring)], examined: nil)
        #expect(result?.correctedBy == 2)
        let again = life().advance(remembered: result, found: [listed(.corrected)], examined: nil)
        #expect(again?.correctedBy == 7)
    }

    @Test(arguments: [
        (FindingState.new, true, Int64(30)), (.recurring, true, 30), (.corrected, true, 40),
        (.new, false, 40), (.corrected, false, 40),
    ])
    func `what is only repeated stays with the checkpoint that found it`(
        state: FindingState, isRepeated: Bool, checkpoint: Int64
    ) {
        let result = life().advance(
            remembered: remembered(), found: [listed(state, isRepeated: isRepeated)], examined: nil)
        #expect(result?.checkpoint == checkpoint)
    }

    @Test func `of several periods the last one decides the state, and any of them the correction`()
    {
        let result = life().advance(
            remembered: remembered(),
            found: [listed(.corrected), listed(.open, severity: "info")], examined: nil)
        #expect(result?.state == .open)
        #expect(result?.severity == "info")
        #expect(result?.correctedBy == 7)
    }

    @Test func `a second application changes nothing`() throws {
        for before in [nil, remembered(), remembered(.status, nil)] {
            for lines in [[listed(.new)], [listed(.corrected, isRepeated: true), listed(.open)]] {
                let once = try #require(
                    life().advance(remembered: before, found: lines, examined: nil))
                #expect(life().advance(remembered: once, found: lines, examined: nil) == nil)
            }
        }
    }
}

@Suite struct `The life of a finding that a run does not list` {
    /// Whether a run that examined this closes the finding.
    private func closes(
        _ finding: RememberedFinding, _ examined: FindingExamination?,
        _ closing: FindingLife.Closing = .examined(acceptsTable: true)
    ) -> Bool {
        let result = life(closing).advance(remembered: finding, found: [], examined: examined)
        guard var expected = result else { return false }
        #expect(expected.state == nil)
        expected.state = finding.state
        #expect(expected == finding)
        return true
    }

    @Test(arguments: [
        (FindingKind.notFound, ExaminationDepth.nothing, false), (.notFound, .standing, true),
        (.status, .standing, false), (.status, .statement, true), (.status, .periods, true),
        (.price, .statement, false), (.price, .periods, true),
        (.transactionMissing, .statement, false), (.transactionMissing, .periods, true),
    ])
    func `is closed once its row was examined as deep as its kind takes`(
        kind: FindingKind, depth: ExaminationDepth, isClosed: Bool
    ) {
        #expect(closes(remembered(kind), examination(.checked(depth))) == isClosed)
    }

    @Test func `stays open where its row was not checked`() {
        #expect(!closes(remembered(), examination()))
        #expect(!closes(remembered(), nil))
    }

    @Test(arguments: [ExaminationDepth.standing, .statement])
    func `is closed by the statement where it is about the price of the latest period`(
        depth: ExaminationDepth
    ) {
        let examined = examination(.checked(depth)) { $0.isOfLatestPeriod = true }
        #expect(closes(remembered(.price), examined) == (depth == .statement))
        #expect(!closes(remembered(.transactionUnknown), examined))
    }

    @Test func `counts as one about the statement where its kind is not known`() {
        var finding = remembered()
        finding.kind = "of_a_later_version"
        #expect(!closes(finding, examination(.checked(.standing))))
        #expect(closes(finding, examination(.checked(.statement))))
        #expect(closes(finding, examination { $0.isStored = false }))
    }

    @Test(arguments: [
        FindingLife.Closing.nothing, .ofInsertedRows, .examined(acceptsTable: false),
    ])
    func `is closed by the insert of its row, but for what concerns older periods`(
        closing: FindingLife.Closing
    ) {
        let mayClose = closing != .nothing
        #expect(closes(remembered(.missingLocally), examination(.inserted), closing) == mayClose)
        #expect(!closes(remembered(.transactionUnknown), examination(.inserted), closing))
        var unnamed = remembered(.verificationFailed)
        unnamed.originalTransactionID = nil
        #expect(!closes(unnamed, examination(.inserted), closing))
    }

    @Test(arguments: [FindingLife.Closing.nothing, .ofInsertedRows])
    func `stays open after a run that may not close it`(closing: FindingLife.Closing) {
        #expect(!closes(remembered(), examination(.checked(.periods)), closing))
        #expect(!closes(remembered(), examination { $0.isStored = false }, closing))
        let delivered = examination { $0.isDelivered = true }
        #expect(!closes(remembered(.notificationMissed), delivered, closing))
    }

    @Test(arguments: [
        (FindingKind.status, false, false, true), (.status, true, false, false),
        (.duplicateLocal, true, false, true), (.duplicateLocal, true, true, false),
        (.missingLocally, false, false, false),
    ])
    func `is closed once what it is about is gone from a table of an accepted size`(
        kind: FindingKind, isStored: Bool, hasDuplicates: Bool, isClosed: Bool
    ) {
        let examined = examination {
            $0.isStored = isStored
            $0.hasDuplicates = hasDuplicates
        }
        #expect(closes(remembered(kind), examined) == isClosed)
        #expect(!closes(remembered(kind), examined, .examined(acceptsTable: false)))
        #expect(remembered(kind).isGone(by: examined) == isClosed)
    }

    @Test func `is closed by the history where it names no row`() {
        let unread = examination(.checked(.periods)) { $0.namesRow = false }
        #expect(!closes(remembered(.verificationFailed), unread))
        var read = unread
        read.wasHistoryRead = true
        #expect(closes(remembered(.verificationFailed), read))
        read.namesRow = true
        read.row = nil
        #expect(!closes(remembered(.verificationFailed), read))
    }

    @Test(arguments: [FindingKind.notificationMissed, .notificationLost])
    func `is closed by a later checkpoint whose history shows its notification as delivered`(
        kind: FindingKind
    ) {
        #expect(
            !closes(remembered(kind), examination(.checked(.periods)) { $0.wasHistoryRead = true }))
        let delivered = examination { $0.isDelivered = true }
        #expect(closes(remembered(kind), delivered))
        var own = remembered(kind)
        own.checkpoint = 40
        #expect(!closes(own, delivered))
    }

    @Test(arguments: [FindingState.corrected, nil])
    func `stays as it is where nothing of it is open`(state: FindingState?) {
        #expect(!closes(remembered(.status, state), examination(.checked(.periods))))
    }

    @Test(arguments: [FindingState.new, .open, .recurring, .acknowledged])
    func `is closed whichever open state it has`(state: FindingState) {
        #expect(closes(remembered(.status, state), examination(.checked(.statement))))
    }
}
