import Subscriptions
import Testing

@Suite struct `Sources` {
    @Test func `hold one idea a file, about 600 lines at most`() throws {
        for file in Repository.swiftFiles(under: "Sources") {
            let lines =
                try Repository.text(of: file).split(
                    separator: "\n", omittingEmptySubsequences: false
                ).count - 1
            #expect(lines <= 620, "\(file) has \(lines) lines")
        }
    }

    @Test(arguments: ["TODO", "FIXME", "fatalError(\"not"])
    func `leave nothing open`(words: String) throws {
        for file in Repository.swiftFiles(under: "Sources") {
            #expect(!(try Repository.text(of: file).contains(words)), "\(words) in \(file)")
        }
    }

    @Test func `have a test file for every rule`() throws {
        let tests = Set(
            Repository.swiftFiles(under: "Tests/ReconciliationTests").map { file in
                file.split(separator: "/").last.map(String.init) ?? file
            })
        for file in Repository.swiftFiles(under: "Sources/Reconciliation/Rules") {
            let name = file.split(separator: "/").last.map { String($0.dropLast(6)) } ?? ""
            // The other files there are the list of rules with their types, and the vetoes.
            guard name.hasSuffix("Rule") else { continue }
            #expect(tests.contains(name + "Tests.swift"), "\(name) has no test file")
            // A plan names the rule as its file.
            for stated in try Repository.text(of: file).matches(of: /Rule\("(\w+)"/) {
                #expect(stated.output.1 == name)
            }
        }
    }
}

@Suite struct `The table of exit statuses` {
    static let contract: [(code: Int32, name: String)] = [
        (0, "ok"), (1, "failure"), (2, "findings"), (3, "incomplete"), (4, "guard"), (5, "empty"),
        (6, "stale"), (7, "tampered"), (64, "usage"), (65, "data"), (69, "unavailable"),
        (70, "internal"), (73, "output"), (74, "output"), (75, "busy"), (76, "protocol"),
        (77, "denied"), (78, "config"), (129, "signal"), (130, "signal"),
        (143, "signal"),
    ]

    @Test func `is the contract's, each code once`() {
        let ours = Subscriptions.ExitStatus.allCases.sorted { $0.code < $1.code }
        #expect(ours.map(\.code) == Self.contract.map(\.code))
        #expect(ours.map(\.name) == Self.contract.map(\.name))
    }

    @Test func `decides by the contract's order when several hold`() {
        let order: [Subscriptions.ExitStatus] = [
            .internal, .denied, .protocol, .unavailable, .output, .guarded, .incomplete, .findings,
            .ok,
        ]
        for (index, status) in order.enumerated() {
            #expect(Subscriptions.ExitStatus.decisive(of: order[index...].reversed()) == status)
        }
    }
}

/// Everything for people goes through `Invocation`, which makes foreign text plain.
@Suite struct `Text for a terminal` {
    @Test func `is written in one place`() throws {
        for file in Repository.swiftFiles(under: "Sources/trueup")
        where !file.hasSuffix("Options/Invocation.swift") {
            let text = try Repository.text(of: file)
            for call in [
                "output.line(", "diagnostics.line(", "diagnostics.write(",
                "DescriptorSink(",
            ] where !file.hasSuffix("BadLineLog.swift") {
                #expect(!text.contains(call), "\(call) in \(file)")
            }
            for line in text.split(separator: "\n") where line.contains("writeToStandardError(") {
                let isDeclared = line.contains("func ") || line.contains("PlainText")
                #expect(isDeclared, "\(file): \(line)")
            }
            for line in text.split(separator: "\n")
            where line.contains("write(\"") && line.contains("\\(") {
                #expect(line.contains("PlainText"), "\(file): \(line)")
            }
            for line in text.split(separator: "\n") where line.contains(".output.write(") {
                let isPlain = line.contains("PlainText") || line.contains("Array(\"")
                #expect(isPlain, "\(file): \(line)")
            }
        }
    }
}
