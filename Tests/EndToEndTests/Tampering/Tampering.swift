import Foundation
import TestSupport
import Testing

/// One way to tamper with finished reports, and what `verify` must name.
struct Tampering: Sendable, CustomTestStringConvertible {
    let name: String
    /// All of it must stand in what `verify` prints.
    let named: [String]
    /// What was written down before, where nothing else can show it.
    let anchor: Anchor?
    /// Does it; the result is handed to `verify` as further arguments.
    let apply: @Sendable (ForgedReports) throws -> [String]

    var testDescription: String { name }

    init(
        _ name: String, names named: String...,
        anchor: Anchor? = nil,
        _ apply: @escaping @Sendable (ForgedReports) throws -> Void
    ) {
        self.name = name
        self.named = named
        self.anchor = anchor
        self.apply = {
            try apply($0)
            return []
        }
    }

    /// A tampering with evidence whose root the auditor trusts, so that only its contents tell.
    init(
        _ name: String, names named: String..., trusting chain: TestSigningChain.Options,
        _ apply: @escaping @Sendable (ForgedReports, TestSigningChain) throws -> Void
    ) {
        self.name = name
        self.named = named
        self.anchor = nil
        self.apply = { reports in
            let chain = try TestSigningChain(chain)
            try apply(reports, chain)
            return ["--trusted-root", try reports.rootFile(of: chain)]
        }
    }

    /// A digest of an untouched night.
    enum Anchor: Sendable {
        case manifest(Int)
        case ledgerHead(Int)

        func digest(in reports: ForgedReports) throws -> String {
            switch self {
            case .manifest(let night): return try reports.manifestDigest(night)
            case .ledgerHead(let night):
                let last = try reports.objects(night, "corrections.jsonl").last
                return try #require(last?["ledger_hash"] as? String)
            }
        }
    }

    /// The nights of the reports that are tampered with.
    enum Night {
        static let first = 0
        static let second = 1
        static let check = 2
        static let newest = 3
    }

    static let all = files + contents + findings + ledger + evidence + chain
}

extension Tampering {
    /// Files as bytes; nothing is computed anew.
    static let files = [
        Tampering("a line is removed from corrections.jsonl", names: "corrections.jsonl") {
            try $0.editLines(Night.first, "corrections.jsonl") { $0.remove(at: 1) }
        },
        Tampering("the tail of evidence.jsonl is cut", names: "evidence.jsonl") {
            try $0.editLines(Night.first, "evidence.jsonl") { $0.removeLast(2) }
        },
        Tampering("a file ends in the middle of a line", names: "discrepancies.jsonl") {
            let text = try $0.text(Night.first, "discrepancies.jsonl")
            try $0.write(String(text.dropLast(100)), Night.first, "discrepancies.jsonl")
        },
        Tampering("a line is added", names: "undecided.csv") {
            let text = try $0.text(Night.second, "undecided.csv")
            try $0.write(text + "a,b,c,d,e,f\r\n", Night.second, "undecided.csv")
        },
        Tampering("a file is emptied", names: "run.log.jsonl") {
            try $0.write("", Night.second, "run.log.jsonl")
        },
        Tampering("a file is removed", names: "not_found.csv: the file is missing") {
            try FileManager.default.removeItem(at: $0.url(Night.first, "not_found.csv"))
        },
        Tampering("a file is added", names: "more.csv") {
            try $0.write("x", Night.first, "more.csv")
        },
        Tampering("a file is renamed", names: "notifications.csv", "inbox.csv") {
            try FileManager.default.moveItem(
                at: $0.url(Night.first, "notifications.csv"), to: $0.url(Night.first, "inbox.csv"))
        },
        Tampering("a file is exchanged for a link to its copy", names: "README.txt", "link") {
            let copy = $0.folder.url.appendingPathComponent("copy.txt")
            try FileManager.default.moveItem(at: $0.url(Night.first, "README.txt"), to: copy)
            try FileManager.default.createSymbolicLink(
                at: $0.url(Night.first, "README.txt"), withDestinationURL: copy)
        },
        Tampering("two files change places", names: "summary.txt", "README.txt") {
            let (one, other) = (
                try $0.text(Night.first, "summary.txt"), try $0.text(Night.first, "README.txt")
            )
            try $0.write(one, Night.first, "README.txt")
            try $0.write(other, Night.first, "summary.txt")
        },
        Tampering("the sums are removed", names: "SHA256SUMS") {
            try FileManager.default.removeItem(at: $0.url(Night.first, "SHA256SUMS"))
        },
        Tampering("the manifest is removed", names: "manifest.json") {
            try FileManager.default.removeItem(at: $0.url(Night.second, "manifest.json"))
        },
        Tampering("a file is left out of sums and manifest", names: "undecided.csv") { reports in
            try FileManager.default.removeItem(at: reports.url(Night.newest, "undecided.csv"))
            try reports.relink(from: Night.newest)
        },
    ]

    /// What the files say; digests, manifests and the chain are computed anew.
    static let contents = [
        Tampering("a finding is removed", names: "summary.json", "discrepancies.jsonl has") {
            try $0.editLines(Night.first, "discrepancies.jsonl") { $0.removeLast() }
            try $0.editLines(Night.first, "discrepancies.csv") { $0.removeLast() }
            try $0.relink(from: Night.first)
        },
        Tampering(
            "a day that was not read gets a zero", names: "business.jsonl:1",
            "its events do not fit its day_read"
        ) { reports in
            try reports.edit(Night.first, "business.jsonl") { $0["events"] = 0 }
            try reports.relink(from: Night.first)
        },
        Tampering(
            "the spreadsheet of the business says otherwise", names: "business.csv:2",
            "it differs from line 1"
        ) { reports in
            try reports.editLines(Night.first, "business.csv") { lines in
                lines[1] = lines[1].replacing(",not,", with: ",whole,")
            }
            try reports.relink(from: Night.first)
        },
        Tampering(
            "the summary counts other events than the lines", names: "summary.json",
            "its business is not what"
        ) { reports in
            try reports.editWhole(Night.first, "summary.json") { summary in
                var business = try #require(summary["business"] as? [String: Any])
                business["apps"] = [Any]()
                summary["business"] = business
            }
            try reports.relink(from: Night.first)
        },
        Tampering(
            "the end of an entitlement is edited", names: "entitlements.csv:",
            "its change does not fit its dates"
        ) { reports in
            try reports.editEntitlement(Night.first, change: "shorter") { $0.swapAt(6, 7) }
        },
        Tampering(
            "an entitlement is said to be shorter that is longer", names: "entitlements.csv:",
            "its change does not fit its dates"
        ) { reports in
            try reports.editEntitlement(Night.first, change: "longer") { $0[5] = "shorter" }
        },
        Tampering(
            "an end of an entitlement is no time", names: "entitlements.csv:",
            "one of its dates is not a time"
        ) { reports in
            try reports.editEntitlement(Night.first, change: "longer") { $0[7] = "soon" }
        },
        Tampering(
            "an entitlement is taken from another run", names: "entitlements.csv:",
            "it is a row of another run"
        ) { reports in
            try reports.editEntitlement(Night.first, change: "longer") { $0[0] += "x" }
        },
        Tampering(
            "an entitlement stands twice", names: "entitlements.csv:",
            "it repeats the entitlement of the line before"
        ) { reports in
            try reports.editLines(Night.first, "entitlements.csv") { lines in
                lines.insert(lines[1], at: 1)
            }
            try reports.relink(from: Night.first)
        },
        Tampering("a finding's severity is lowered", names: "its findings of") {
            try $0.edit(Night.first, "discrepancies.jsonl") { $0["severity"] = "info" }
            try $0.relink(from: Night.first)
        },
        Tampering("a finding's value is edited", names: "discrepancies.jsonl:", "apple_value") {
            reports in
            let place = try #require(
                try reports.objects(Night.first, "discrepancies.jsonl").firstIndex {
                    $0["kind"] as? String == "expiry"
                })
            try reports.edit(Night.first, "discrepancies.jsonl", line: place) {
                $0["apple_value"] = "2031-01-01T00:00:00.000Z"
            }
            try reports.relink(from: Night.first)
        },
        Tampering("the spreadsheet says something else", names: "discrepancies.csv:2") {
            try $0.editLines(Night.first, "discrepancies.csv") {
                $0[1] = $0[1].replacingOccurrences(of: "Production", with: "Sandbox")
            }
            try $0.relink(from: Night.first)
        },
        Tampering("findings of another night are shown", names: "a finding of another run") {
            reports in
            for file in ["discrepancies.jsonl", "discrepancies.csv"] {
                try reports.write(
                    reports.text(Night.newest, file), Night.second, file)
            }
            try reports.relink(from: Night.second)
        },
        Tampering("a total is edited", names: "summary.json", "do not add up") { reports in
            for file in ["summary.json", "manifest.json"] {
                try reports.editWhole(Night.second, file) { object in
                    var totals = object["totals"] as? [String: Any] ?? [:]
                    totals["matched"] = (totals["matched"] as? Int ?? 0) + 1
                    object["totals"] = totals
                }
            }
            try reports.relink(from: Night.second)
        },
        Tampering("totals are shifted", names: "totals.undecided") { reports in
            for file in ["summary.json", "manifest.json"] {
                try reports.editWhole(Night.second, file) { object in
                    var totals = object["totals"] as? [String: Any] ?? [:]
                    totals["matched"] = (totals["matched"] as? Int ?? 0) - 1
                    totals["undecided"] = (totals["undecided"] as? Int ?? 0) + 1
                    object["totals"] = totals
                }
            }
            try reports.relink(from: Night.second)
        },
        Tampering("the outcome is whitewashed", names: "its outcome is another") {
            try $0.editWhole(Night.first, "summary.json") {
                $0["outcome"] = ["exit_status": 0, "flags": ["ok"], "name": "ok"]
            }
            try $0.relink(from: Night.first)
        },
        Tampering("the number of corrections is edited", names: "corrections_applied") {
            try $0.editWhole(Night.first, "manifest.json") { $0["corrections_applied"] = 1 }
            try $0.relink(from: Night.first)
        },
        Tampering("the plan is edited", names: "plan.json", "the list was edited") {
            try $0.replace(
                "\"expected_row_version\":", with: "\"expected_row_version\":7",
                Night.check, "plan.json")
            try $0.relink(from: Night.check)
        },
        Tampering("the plan's seal is edited", names: "plan.json", "the list was edited") {
            try $0.editLines(Night.check, "plan.json") {
                let zeros = String(repeating: "0", count: 64)
                $0[$0.count - 1] = "],\"sha256\":\"\(zeros)\"}"
            }
            try $0.relink(from: Night.check)
        },
        Tampering("a value of the plan is edited and sealed", names: "plan.json:", "product_id") {
            reports in
            try reports.editLines(Night.check, "plan.json") { lines in
                let place = try #require(
                    lines.firstIndex { $0.contains("\"after\":{") && $0.contains("product_id") })
                lines[place] = lines[place].replacingOccurrences(
                    of: "\"product_id\":\"", with: "\"product_id\":\"gold.")
            }
            try reports.seal(Night.check, "plan.json")
            try reports.relink(from: Night.check)
        },
        Tampering(
            "the reason in a plan is edited and sealed", names: "plan.json:1", "plan_sha256"
        ) { reports in
            try reports.editLines(Night.check, "plan.json") { lines in
                lines[1] = lines[1].replacingOccurrences(
                    of: "\"reason\":\"", with: "\"reason\":\"Not so. ")
            }
            try reports.seal(Night.check, "plan.json")
            try reports.relink(from: Night.check)
        },
        Tampering("a plan loses its identity", names: "summary.json", "plan.json's") { reports in
            let digest = try #require(
                try reports.text(Night.check, "plan.json").components(
                    separatedBy: "\"plan_sha256\":\""
                ).dropFirst().first?.prefix(64))
            try reports.replace(
                "\"plan_sha256\":\"\(digest)\",", with: "", Night.check, "plan.json")
            try reports.seal(Night.check, "plan.json")
            try reports.relink(from: Night.check)
        },
        Tampering("the plan of another night is shown", names: "plan.json:1", "run_id") {
            let other = try $0.text(Night.check, "plan.json")
            try $0.write(other, Night.newest, "plan.json")
            try $0.relink(from: Night.newest)
        },
        Tampering("the way back is edited and sealed", names: "undo.json:", "exchanged") {
            try $0.replace(
                "\"before\":{", with: "\"before\":{\"a\":1,", Night.first, "undo.json")
            try $0.seal(Night.first, "undo.json")
            try $0.relink(from: Night.first)
        },
        Tampering("the manifest is of a later format", names: "manifest.json", "format 2") {
            try $0.editWhole(Night.second, "manifest.json") { $0["format"] = 2 }
            try $0.relink(from: Night.second)
        },
    ]
}
