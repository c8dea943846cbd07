import Foundation
import Reports
import Subscriptions
import Testing

@Suite struct `The manifest` {
    struct Content: Decodable {
        struct File: Decodable {
            let name: String
            let sha256: String
            let bytes: Int
            let lines: Int
        }
        let previous: String?
        let files: [File]
    }

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func content(_ run: String) throws -> Content {
        try JSONDecoder().decode(
            Content.self, from: Data(try folder.text("2026-11-20/\(run)/manifest.json").utf8))
    }

    @Test func `names the run, its trusted roots, and its totals`() throws {
        _ = try folder.report(context: Samples.rehearsal)
        let text = try folder.text("latest/manifest.json")
        let files = try #require(text.range(of: "  \"files\": ["))
        let after = try #require(text.range(of: "  \"findings\":"))
        let rest = text[..<files.lowerBound] + text[after.lowerBound...]
        #expect(
            rest == """
                {
                  "apps": [
                    {
                      "app_apple_id": 1234567890,
                      "bundle_id": "com.example.app",
                      "environment": "Production"
                    }
                  ],
                  "corrections_applied": 31,
                  "ended": "2026-11-20T03:19:40.250Z",
                  "findings": 1212,
                  "format": 1,
                  "job": "nightly",
                  "ledger_head": "\(String(repeating: "1e", count: 32))",
                  "lifted_guards": [],
                  "mode": "apply",
                  "notice": "rehearsal: trusts \(Samples.renewalDigest), not Apple's root",
                  "outcome": {
                    "exit_status": 3,
                    "flags": [
                      "incomplete",
                      "findings"
                    ],
                    "name": "incomplete"
                  },
                  "plan_only": false,
                  "previous": null,
                  "run_id": "20261120T031704Z-7f3c9a",
                  "scope": null,
                  "settings_digest": "\(String(repeating: "5e", count: 32))",
                  "started": "2026-11-20T03:17:04.000Z",
                  "tool_version": "1.0.0",
                  "totals": {
                    "discrepant": 37,
                    "excluded": 10,
                    "filled": 0,
                    "in_scope": 2000,
                    "matched": 1950,
                    "undecided": 3
                  },
                  "trusted_roots": [
                    {
                      "certificate": null,
                      "fingerprint": "\(Samples.digest)",
                      "is_apple": true
                    },
                    {
                      "certificate": "PEM\\n",
                      "fingerprint": "\(Samples.renewalDigest)",
                      "is_apple": false
                    }
                  ]
                }

                """)
    }

    @Test func `names every file but itself and SHA256SUMS with digest, bytes and lines`() throws {
        let report = try folder.report()
        let files = try content("20261120T031704Z-7f3c9a").files
        let expected = try folder.names(in: "latest").filter {
            $0 != "manifest.json" && $0 != "SHA256SUMS"
        }
        #expect(files.map(\.name) == expected)
        for file in files {
            let facts = try shell(
                "sha256sum < \(file.name); wc -c -l < \(file.name)", in: report.path)
            let words = facts.output.split(whereSeparator: \.isWhitespace).map(String.init)
            #expect(
                words == [file.sha256, "-", "\(file.lines)", "\(file.bytes)"], "\(file.name)")
        }
    }

    @Test func `is linked to the manifest of the run before`() throws {
        let first = try folder.report(try Samples.run("20261120T010000Z-000001"))
        let second = try folder.report(try Samples.run("20261120T020000Z-000002"))
        // The clock was set back in between: the chain follows the runs, not their names.
        let third = try folder.report(try Samples.run("20261120T003000Z-000003"))
        #expect(try content("20261120T010000Z-000001").previous == nil)
        #expect(try content("20261120T020000Z-000002").previous == first.manifestDigest)
        #expect(try content("20261120T003000Z-000003").previous == second.manifestDigest)
        #expect(Set([first, second, third].map(\.manifestDigest)).count == 3)
    }

    @Test func `is linked to a run that was killed before it reached the index`() throws {
        _ = try folder.report(try Samples.run("20261120T010000Z-000001"))
        let index = try folder.text("index.csv")
        let second = try folder.report(try Samples.run("20261120T020000Z-000002"))
        let complete = try folder.text("index.csv")
        try folder.write(index, to: "index.csv")
        _ = try folder.report(try Samples.run("20261120T030000Z-000003"))
        #expect(try content("20261120T030000Z-000003").previous == second.manifestDigest)
        #expect(try folder.text("index.csv").hasPrefix(complete))
    }

    @Test func `is linked to the last listed run when old folders were deleted`() throws {
        let first = try folder.report(try Samples.run("20261120T010000Z-000001"))
        try FileManager.default.removeItem(atPath: folder.path + "/2026-11-20")
        _ = try folder.report(try Samples.run("20261120T020000Z-000002"))
        #expect(try content("20261120T020000Z-000002").previous == first.manifestDigest)
    }
}
