import Subscriptions
import Testing

@Suite struct `The exit statuses` {
    @Test func `has the contract's codes and names`() {
        let table = Subscriptions.ExitStatus.allCases.map { "\($0.code) \($0.name)" }.sorted()
        #expect(
            table
                == [
                    "0 ok", "1 failure", "129 signal", "130 signal", "143 signal", "2 findings",
                    "3 incomplete", "4 guard", "5 empty", "6 stale", "64 usage", "65 data",
                    "69 unavailable", "7 tampered", "70 internal", "73 output", "74 output",
                    "75 busy", "76 protocol", "77 denied", "78 config",
                ])
    }

    @Test func `describes every status in words`() {
        for status in Subscriptions.ExitStatus.allCases { #expect(!status.meaning.isEmpty) }
    }

    @Test func `decides in the contract's order`() {
        let order: [Subscriptions.ExitStatus] = [
            .internal, .denied, .protocol, .unavailable, .output, .guarded, .incomplete,
            .findings, .ok,
        ]
        #expect(order.map(\.code) == [70, 77, 76, 69, 74, 4, 3, 2, 0])
        for (index, status) in order.enumerated() {
            #expect(Subscriptions.ExitStatus.decisive(of: order[index...].shuffled()) == status)
        }
    }

    @Test func `is ok when nothing else holds`() {
        #expect(Subscriptions.ExitStatus.decisive(of: []) == .ok)
        #expect(Subscriptions.ExitStatus.decisive(of: [.ok, .empty]) == .empty)
    }
}
