import Foundation
import Reports
import Subscriptions
import TestSupport
import Testing

@Suite struct `JSON Lines` {
    static let members = [
        "finding_id", "run_id", "kind", "severity", "state", "app", "environment",
        "original_transaction_id", "transaction_id", "customer_id", "product_id", "field",
        "local_value", "apple_value", "local_as_of", "apple_as_of", "direction", "amount",
        "currency", "cause", "evidence", "action", "first_seen", "asked_because",
        "amount_milliunits",
    ]

    @Test func `a finding has exactly the members of the contract, sorted, null where absent`()
        throws
    {
        let folder = try TemporaryFolder()
        _ = try folder.report()
        let line =
            #"{"action":"none","amount":null,"amount_milliunits":null,"app":"com.example.app","#
            + #""apple_as_of":null,"#
            + #""apple_value":null,"asked_because":null,"cause":null,"currency":null,"customer_id":null,"#
            + #""direction":"neutral","environment":"Production","evidence":null,"field":null,"#
            + #""finding_id":"f-2","first_seen":"2026-11-20T03:17:04.000Z","kind":"unknown_value","#
            + #""local_as_of":null,"local_value":null,"original_transaction_id":null,"#
            + #""product_id":null,"run_id":"20261120T031704Z-7f3c9a","severity":"info","#
            + #""state":"new","transaction_id":null}"#
        let lines = try folder.text("latest/discrepancies.jsonl").split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.last.map(String.init) == line)
    }

    @Test func `the CSV has the same columns in the order of the contract`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.report()
        let lines = try folder.text("latest/discrepancies.csv").split(separator: "\r\n")
        #expect(lines.first.map(String.init) == Self.members.joined(separator: ","))
        #expect(
            lines.dropFirst().first.map(String.init)
                == "f-1,20261120T031704Z-7f3c9a,access_missing,critical,corrected,com.example.app,"
                + "Production,2000000000000001,2000000000000009,customer-1,pro.monthly,status,2,1,"
                + "2026-11-01T00:00:00.000Z,2026-11-20T03:17:05.123Z,customer_loses,9990,USD,"
                + "a renewal was missed,\(Samples.digest),corrected,2026-11-20T03:17:04.000Z,,9990")
    }

    /// The fast path of the lines against the one spelling of `CanonicalJSON`.
    @Test func `a line has the bytes of the canonical form whatever the texts hold`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let alphabet: [Character] = [
            "a", "\"", "\\", "\n", "\r", "\t", "\0", "\u{1F}", "\u{7F}", "\u{2028}", "\u{2029}",
            "é",
            "\u{202E}", "😀", "<", "/", " ", "=",
        ]
        var run = try Samples.run()
        run.findings = (0..<200).map { _ in
            var reported = Samples.finding
            reported.finding.productID = String(
                (0..<Int.random(in: 0...6, using: &random)).map { _ in
                    alphabet.randomElement(using: &random) ?? "a"
                })
            return reported
        }
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        let lines = try folder.text("latest/discrepancies.jsonl").split(separator: "\n")
        try #require(lines.count == 200)
        for (line, reported) in zip(lines, run.findings) {
            let product = try #require(reported.finding.productID)
            let spelled = CanonicalJSON.string(product).rendered
            #expect(line.contains("\"product_id\":\(spelled),\"run_id\""), "seed \(seed)")
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            let read = object?["product_id"] as? String
            #expect(read.map { Array($0.utf8) } == Array(product.utf8), "seed \(seed)")
            #expect(object.map { Set($0.keys) } == Set(Self.members))
        }
    }
}
