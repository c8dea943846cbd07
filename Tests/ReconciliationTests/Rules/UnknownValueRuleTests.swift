import Reconciliation
import Subscriptions
import Testing

@Suite struct `The unknown value rule` {
    @Test func `reports each field once and changes no verdict`() throws {
        let stated = Sample.stated {
            $0.transaction.unknowns = [
                UnknownValue(field: "transaction.offerType", value: "9"),
                UnknownValue(field: "transaction.offerType", value: "9"),
                UnknownValue(field: "transaction.mood", value: nil),
            ]
            $0.renewal.unknowns = [UnknownValue(field: "renewalInfo.seatPlan", value: nil)]
        }
        let answer = StatusAnswer(
            subscriptions: [stated], unknowns: [UnknownValue(field: "region", value: nil)])
        let outcome = try outcome(Sample.item(Sample.row(of: stated), .answered(answer)))
        #expect(outcome.verdict == .match)
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.findings.allSatisfy { $0.kind == .unknownValue && $0.severity == .info })
        #expect(
            outcome.findings.map(\.field) == [
                "region", "renewalInfo.seatPlan", "transaction.mood", "transaction.offerType",
            ])
        #expect(outcome.findings[3].appleValue == .text("9"))
        #expect(outcome.findings[1].evidence == stated.renewal.evidence.digest)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `reports what is new around a history`() throws {
        let stated = Sample.stated {
            $0.transaction.unknowns = [UnknownValue(field: "transaction.mood", value: nil)]
        }
        var item = Sample.item(
            Sample.row(of: stated), .answered(StatusAnswer(subscriptions: [stated])))
        item.history = .complete([stated.transaction])
        item.historyUnknowns = [
            UnknownValue(field: "historyResponse.weather", value: nil),
            UnknownValue(field: "transaction.mood", value: nil),
        ]
        let outcome = try outcome(item)
        #expect(outcome.verdict == .match)
        #expect(outcome.findings.map(\.field) == ["historyResponse.weather", "transaction.mood"])
        #expect(outcome.findings[0].evidence == nil)
    }

    @Test func `does not keep a row from being corrected`() throws {
        let stated = Sample.stated {
            $0.transaction.unknowns = [UnknownValue(field: "transaction.mood", value: nil)]
        }
        let outcome = try outcome(Sample.row { $0.status = 2 }, beside: stated)
        #expect(outcome.kinds == [.accessMissing, .unknownValue])
        #expect(outcome.corrections.map(\.kinds) == [[.accessMissing]])
    }
}
