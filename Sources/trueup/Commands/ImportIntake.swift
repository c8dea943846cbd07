import RowFiles
import SubscriptionStore
import Subscriptions

/// The lines of a file that is being imported: what is taken, and what is wrong with the others.
struct ImportIntake {
    var log: BadLineLog
    let skipsBadRows: Bool
    let namesEmptyReceipts: Bool
    /// Lines that were taken; of receipts, one may hold several subscriptions.
    private(set) var lines = 0
    /// Receipts that name no subscription.
    private(set) var emptyReceipts = 0
    /// Purchases in receipts that are no subscriptions.
    private(set) var otherPurchases = 0
    /// What became of the rows.
    var counts = LoadCounts()

    init(log: BadLineLog, skipsBadRows: Bool, namesEmptyReceipts: Bool) {
        self.log = log
        self.skipsBadRows = skipsBadRows
        self.namesEmptyReceipts = namesEmptyReceipts
    }

    /// Loads a line, or notes what is wrong with it.
    mutating func take<Row: Sendable>(
        _ line: RowLine<Row>, in invocation: Invocation,
        otherwise reason: String = "has the same key as an earlier line",
        _ add: (Row) throws -> LineOutcome
    ) throws {
        switch line {
        case .bad(let bad): try log.note(bad, in: invocation)
        case .row(let row, let number):
            if let signed = (row as? any DatedRow)?.signedDate, signed.isAhead(of: invocation.now())
            {
                let reason =
                    "signed_date \(signed.rfc3339) is in the future; Apple cannot have signed it yet"
                return try log.note(BadLine(line: number, reason: reason), in: invocation)
            }
            switch try add(row) {
            case .accepted, .repeated: lines += 1
            case .duplicateKey:
                try log.note(BadLine(line: number, reason: reason), in: invocation)
            }
        }
    }

    /// Loads the subscriptions of a receipt; one that names none is said and counted.
    mutating func takeReceipt(
        _ line: RowLine<ReceiptRows>, in invocation: Invocation,
        _ add: ([LocalSubscription]) throws -> LineOutcome
    ) throws {
        if case .row(let receipt, let number) = line {
            otherPurchases += receipt.otherPurchases
            if receipt.rows.isEmpty {
                emptyReceipts += 1
                if namesEmptyReceipts, emptyReceipts <= BadLineLog.namedWhenRefusing {
                    let others = receipt.otherPurchases
                    log.remark(
                        "names no subscription"
                            + (others > 0 ? ", only \(Self.purchases(others))" : ""),
                        line: number, in: invocation)
                }
            }
        }
        try take(
            line, in: invocation,
            otherwise: "names a subscription for another customer_id or app_account_token than an "
                + "earlier line"
        ) { receipt in try add(receipt.rows) }
    }

    /// Refuses the file where it has bad lines, unless these are to be skipped.
    func refuse() throws(CommandFailure) {
        guard log.count > 0, !skipsBadRows else { return }
        try log.finish()
        throw log.refusal
    }

    static func purchases(_ count: Int) -> String {
        "\(count) other \(count == 1 ? "purchase" : "purchases")"
    }
}

/// What an import says at its end.
struct ImportOutcome {
    let intake: ImportIntake
    let ofReceipts: Bool
    let isDryRun: Bool

    init(_ intake: ImportIntake, ofReceipts: Bool, isDryRun: Bool) {
        self.intake = intake
        self.ofReceipts = ofReceipts
        self.isDryRun = isDryRun
    }

    /// The result in one line.
    var text: String {
        let counts = intake.counts
        let of = ofReceipts ? "receipt" : "line"
        let lines = "\(intake.lines) \(intake.lines == 1 ? of : of + "s")"
        let changes =
            "\(counts.inserted) inserted, \(counts.updated) updated, "
            + "\(counts.unchanged) unchanged, \(counts.skippedAsOlder) skipped as older"
        guard isDryRun else { return "\(lines) loaded: \(changes)" }
        return "\(lines) would be loaded: \(changes). Nothing was written"
    }

    /// How many bad lines were left out; `nil` for none.
    var leftOut: String? {
        let bad = intake.log.count
        guard bad > 0 else { return nil }
        return "\(bad) bad \(bad == 1 ? "line" : "lines") \(isDryRun ? "would be " : "")left out"
    }

    /// What else a person should know.
    var remarks: [String] {
        var remarks: [String] = []
        guard ofReceipts else { return remarks }
        if intake.emptyReceipts > 0 {
            let count = intake.emptyReceipts
            remarks.append(
                "\(count) \(count == 1 ? "receipt names" : "receipts name") no subscription")
        }
        if intake.otherPurchases > 0 {
            remarks.append(
                "\(ImportIntake.purchases(intake.otherPurchases)) left out, as no subscriptions")
        }
        if !isDryRun, intake.counts.inserted > 0 {
            remarks.append(
                "The ids are unverified: they stand as the receipts claim them, without a status, "
                    + "until a run has asked Apple (trueup estimate backfill, trueup run backfill)")
        }
        return remarks
    }

    var json: CanonicalJSON {
        let counts = intake.counts
        var members: [String: Int] = [
            "accepted": intake.lines, "inserted": counts.inserted, "updated": counts.updated,
            "unchanged": counts.unchanged, "skipped_as_older": counts.skippedAsOlder,
            "bad": intake.log.count,
        ]
        if ofReceipts {
            members["receipts_without_subscription"] = intake.emptyReceipts
            members["other_purchases"] = intake.otherPurchases
        }
        var object = members.mapValues { CanonicalJSON.integer(Int64($0)) }
        object["dry_run"] = .boolean(isDryRun)
        return .object(object)
    }
}

/// A row of a file that says when Apple signed what it rests on.
private protocol DatedRow {
    var signedDate: Timestamp? { get }
}

extension LocalSubscription: DatedRow {}
extension LocalTransaction: DatedRow {}
