import Subscriptions
import Testing

@testable import Reports

/// The short ways of writing corrections, against the plain ones.
@Suite struct `Corrections written with less work` {
    @Test func `have the lines that each field would have by itself`() throws {
        let table = Table.changedFields.stating("rehearsal, \"quoted\"")
        let lines = AlikeLines(of: table, differingIn: ChangedField.ownColumns)
        for correction in [Samples.update, Samples.insert] {
            let fields = correction.changedFields(ofRun: "run", fate: .planned)
            var plain: [UInt8] = []
            for field in fields { table.appendCSV(field, to: &plain) }
            var short: [UInt8] = []
            lines.append(fields, to: &short)
            #expect(!short.isEmpty)
            #expect(short == plain)
        }
        for entry in try Samples.ledger() {
            var plain: [UInt8] = []
            for field in entry.changedFields { table.appendCSV(field, to: &plain) }
            var short: [UInt8] = []
            lines.append(entry.changedFields, to: &short)
            #expect(short == plain)
        }
    }

    @Test func `differ in no other column`() {
        let columns = Set(Table.changedFields.columns.map(\.name))
        #expect(ChangedField.ownColumns.isSubset(of: columns))
    }

    @Test func `have the canonical items of a plan`() {
        var full = Samples.update
        full.continuedBy = ["2000000000000009", "a \"quote\"\u{2028}\n"]
        full.rules = [
            AppliedRule(kind: .expiry, rule: RuleVersion(name: "expiry", version: 2)),
            AppliedRule(kind: nil, rule: RuleVersion(name: "fill", version: 1)),
        ]
        full.undoOf = 7
        for correction in [Samples.update, Samples.insert, full] {
            let members = correction.planMembers
            #expect(
                String(decoding: correction.planItem(), as: UTF8.self)
                    == CanonicalJSON.object(members).rendered)
            let fated = members.merging(["fate": .string("stale")]) { own, _ in own }
            #expect(
                String(decoding: correction.planItem(fate: .stale), as: UTF8.self)
                    == CanonicalJSON.object(fated).rendered)
        }
    }
}
