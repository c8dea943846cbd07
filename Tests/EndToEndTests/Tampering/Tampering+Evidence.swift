import Foundation
import TestSupport
import Testing

extension Tampering {
    /// Payloads and what was made of them; every digest, hash and link is computed anew.
    static let evidence = [
        Tampering("a payload is removed", names: "is not in evidence.jsonl") { reports in
            let place = try reports.correction(Night.first)
            let digest = try digest(of: place, reports)
            try reports.editLines(Night.first, "evidence.jsonl") { lines in
                lines.removeAll { $0.contains(digest) }
            }
            try remake(reports)
        },
        Tampering("payloads of two corrections are exchanged", names: "is about the subscription") {
            reports in
            var entries = try reports.objects(Night.first, "corrections.jsonl")
            let other = try #require(
                entries.indices.dropFirst().first {
                    entries[$0]["evidence"] as? String != entries[0]["evidence"] as? String
                        && entries[$0]["original_transaction_id"] as? String
                            != entries[0]["original_transaction_id"] as? String
                })
            for member in ["evidence", "evidence_renewal"] {
                let kept = entries[0][member]
                entries[0][member] = entries[other][member]
                entries[other][member] = kept
            }
            try reports.writeObjects(entries, Night.first, "corrections.jsonl")
            try remake(reports)
        },
        Tampering("a payload is filed under the digest of another", names: "evidence.jsonl:1") {
            try $0.editLines(Night.first, "evidence.jsonl") { lines in
                let parts = lines[0].components(separatedBy: "\",\"sha256\"")
                let other = lines[1].components(separatedBy: "\",\"sha256\"")
                lines[0] = other[0] + "\",\"sha256\"" + parts[1]
            }
            try remake($0)
        },
        Tampering("a payload is edited under its signature", names: "signature does not verify") {
            reports in
            let digest = try digest(of: reports.correction(Night.first), reports)
            let line = try #require(
                try reports.objects(Night.first, "evidence.jsonl").first {
                    $0["sha256"] as? String == digest
                })
            var parts = (line["jws"] as? String ?? "").components(separatedBy: ".")
            var payload = try reports.payload(Night.first, digest)
            payload["price"] = 1
            parts[1] = try JSONSerialization.data(withJSONObject: payload).base64EncodedString()
                .replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_")
                .replacingOccurrences(of: "=", with: "")
            try reports.exchange(digest, for: parts.joined(separator: "."), Night.first)
            try remake(reports)
        },
        Tampering("a payload is signed anew by another root", names: "does not hold", "root") {
            reports in
            let digest = try digest(of: reports.correction(Night.first), reports)
            let chain = try TestSigningChain()
            try reports.exchange(
                digest, for: reports.signed(chain, Night.first, digest), Night.first)
            try remake(reports)
        },
        Tampering("the manifest vouches for that root", names: "rehearsal root") { reports in
            let digest = try digest(of: reports.correction(Night.first), reports)
            let chain = try TestSigningChain()
            try reports.exchange(
                digest, for: reports.signed(chain, Night.first, digest), Night.first)
            try reports.editWhole(Night.first, "manifest.json") { manifest in
                var roots = manifest["trusted_roots"] as? [[String: Any]] ?? []
                roots.append([
                    "fingerprint": chain.rootFingerprint, "is_apple": false,
                    "certificate": NSNull(),
                ])
                manifest["trusted_roots"] = roots
            }
            try remake(reports)
        },
        Tampering("the manifest calls another root Apple's", names: "whether the root") { reports in
            try reports.editWhole(Night.first, "manifest.json") { manifest in
                var roots = manifest["trusted_roots"] as? [[String: Any]] ?? []
                roots[0]["is_apple"] = true
                manifest["trusted_roots"] = roots
            }
            try reports.relink(from: Night.first)
        },
        forged("a sandbox payload is shown as production", naming: "is not a transaction of") {
            $0["environment"] = "Sandbox"
        },
        forged("another app's payload is shown", naming: "is not a transaction of") {
            $0["bundleId"] = "com.example.other"
        },
        forged("another subscription's payload is shown", naming: "is about the subscription") {
            $0["originalTransactionId"] = "2999999999999999"
        },
        forged("a payload without a date is shown", naming: "is not valid") {
            $0["signedDate"] = nil
        },
        forged("a payload of another time is shown", naming: "apple_signed_date") {
            $0["signedDate"] = 1_700_000_000_000
        },
        forged(
            "a payload is signed after its certificate expired", naming: "was not valid",
            by: {
                var options = TestSigningChain.Options()
                options.leafValidity = 1_672_531_200..<1_672_617_600
                return options
            }()
        ) { _ in },
        forged(
            "a payload is signed by a certificate without Apple's mark", naming: "marker",
            by: {
                var options = TestSigningChain.Options()
                options.leafMarker = nil
                return options
            }()
        ) { _ in },
        edited("an end is edited", "expires_date", to: "2031-01-01T00:00:00.000Z"),
        edited("a product is edited", "product_id", to: "gold.forever"),
        edited("a transaction is edited", "latest_transaction_id", to: "2999999999999999"),
        Tampering("the renewal preference is edited", names: "its auto_renew_status is") {
            reports in
            let place = try #require(
                try reports.objects(Night.second, "corrections.jsonl").firstIndex {
                    ($0["after"] as? [String: Any])?["auto_renew_status"] != nil
                })
            try reports.editCorrection(Night.second, place) { entry in
                var after = entry["after"] as? [String: Any] ?? [:]
                after["auto_renew_status"] = 1 - (after["auto_renew_status"] as? Int ?? 0)
                entry["after"] = after
            }
            try reports.rehashLedger(from: Night.second)
            try reports.relink(from: Night.second)
        },
        Tampering("a status that the payload contradicts is written", names: "its status is 5") {
            reports in
            let place = try #require(
                try reports.objects(Night.first, "corrections.jsonl").firstIndex {
                    ($0["after"] as? [String: Any])?["status"] as? Int == 1
                })
            try reports.editCorrection(Night.first, place) { entry in
                var after = entry["after"] as? [String: Any] ?? [:]
                after["status"] = 5
                entry["after"] = after
            }
            try remake(reports)
        },
        Tampering(
            "a field that a status follows from is edited", names: "derivations.jsonl:1",
            "what Apple signed"
        ) { reports in
            try reports.editLines(Night.first, "derivations.jsonl") { lines in
                lines[0] = lines[0].replacing(
                    /"renewalDate":[^,]*,/, with: "\"renewalDate\":\"2031-01-01T00:00:00.000Z\",")
            }
            try reports.relink(from: Night.first)
        },
        Tampering(
            "what a status follows from is told otherwise", names: "derivations.jsonl:1",
            "its derivation is not what the signed fields give"
        ) { reports in
            try reports.editLines(Night.first, "derivations.jsonl") { lines in
                lines[0] = lines[0].replacing("\"derivation\":\"", with: "\"derivation\":\"So: ")
            }
            try reports.relink(from: Night.first)
        },
        Tampering(
            "the spreadsheet derives a status otherwise", names: "corrections.csv:",
            "its derivation is not the one in derivations.jsonl"
        ) { reports in
            try reports.editLines(Night.first, "corrections.csv") { lines in
                let place = try #require(lines.firstIndex { $0.contains("after signedDate") })
                lines[place] = lines[place].replacing("after signedDate", with: "long past")
            }
            try reports.relink(from: Night.first)
        },
        Tampering("a derivation is left out", names: "derivations.jsonl") { reports in
            try reports.editLines(Night.first, "derivations.jsonl") { $0.removeLast() }
            try reports.relink(from: Night.first)
        },
        Tampering("the date of Apple's signature is edited", names: "apple_signed_date") {
            reports in
            try reports.editCorrection(Night.first, reports.correction(Night.first)) {
                $0["apple_signed_date"] = "2026-01-01T00:00:00.000Z"
            }
            try remake(reports)
        },
        Tampering(
            "a correction is said of another subscription", names: "is about the subscription"
        ) { reports in
            try reports.editCorrection(Night.first, reports.correction(Night.first)) {
                $0["original_transaction_id"] = "2999999999999999"
            }
            try remake(reports)
        },
        Tampering("the manifest's apps are edited", names: "none of the manifest's") { reports in
            try reports.editWhole(Night.first, "manifest.json") { manifest in
                var apps = manifest["apps"] as? [[String: Any]] ?? []
                apps[0]["bundle_id"] = "com.example.other"
                manifest["apps"] = apps
            }
            try reports.relink(from: Night.first)
        },
    ]

    private static func digest(of place: Int, _ reports: ForgedReports) throws -> String {
        try #require(
            try reports.objects(Night.first, "corrections.jsonl")[place]["evidence"] as? String)
    }

    private static func remake(_ reports: ForgedReports) throws {
        try reports.rehashLedger(from: Night.first)
        try reports.relink(from: Night.first)
    }

    /// A payload of the first night, edited and signed by a root that the auditor trusts.
    private static func forged(
        _ name: String, naming: String,
        by options: TestSigningChain.Options = TestSigningChain.Options(),
        _ body: @escaping @Sendable (inout [String: Any]) -> Void
    ) -> Tampering {
        Tampering(name, names: naming, trusting: options) { reports, chain in
            let digest = try digest(of: reports.correction(Night.first), reports)
            let jws = try reports.signed(chain, Night.first, digest) { body(&$0) }
            try reports.exchange(digest, for: jws, Night.first)
            try remake(reports)
        }
    }

    /// A value of a correction, edited wherever it stands.
    private static func edited(_ name: String, _ field: String, to value: String) -> Tampering {
        Tampering(name, names: "corrections.jsonl:", "its \(field) is", "the signed payload says") {
            reports in
            let place = try reports.correction(Night.first, setting: field)
            try reports.editCorrection(Night.first, place) { entry in
                var after = entry["after"] as? [String: Any] ?? [:]
                after[field] = value
                entry["after"] = after
            }
            try remake(reports)
        }
    }
}
