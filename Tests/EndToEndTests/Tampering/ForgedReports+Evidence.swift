import Foundation
import TestSupport
import Testing

extension ForgedReports {
    /// The payload of a digest, decoded.
    func payload(_ run: Int, _ digest: String) throws -> [String: Any] {
        let line = try #require(
            try objects(run, "evidence.jsonl").first { $0["sha256"] as? String == digest })
        let jws = try #require(line["jws"] as? String)
        var base64 = jws.split(separator: ".")[1]
            .replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
        let data = try #require(Data(base64Encoded: base64))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// Signs an edited payload by a chain of one's own.
    func signed(
        _ chain: TestSigningChain, _ run: Int, _ digest: String,
        _ body: (inout [String: Any]) throws -> Void = { _ in }
    ) throws -> String {
        var payload = try payload(run, digest)
        try body(&payload)
        let data = try JSONSerialization.data(withJSONObject: payload, options: [.sortedKeys])
        return try chain.sign(String(decoding: data, as: UTF8.self))
    }

    /// Puts another payload in the place of one, and its digest wherever the old one is named.
    @discardableResult
    func exchange(_ digest: String, for jws: String, _ run: Int) throws -> String {
        let new = Self.digest(jws.utf8)
        var lines = try objects(run, "evidence.jsonl").filter { $0["sha256"] as? String != digest }
        lines.append(["jws": jws, "sha256": new])
        lines.sort { ($0["sha256"] as? String ?? "") < ($1["sha256"] as? String ?? "") }
        try writeObjects(lines, run, "evidence.jsonl")
        for file in [
            "corrections.jsonl", "discrepancies.jsonl", "discrepancies.csv", "plan.json",
            "notifications.csv", "not_found.csv", "derivations.jsonl",
        ] {
            let before = try text(run, file)
            try write(before.replacingOccurrences(of: digest, with: new), run, file)
        }
        try reidentifyPlan(run)
        return new
    }

    /// Where a correction of a held subscription stands that sets this field.
    func correction(_ run: Int, setting field: String = "signed_date") throws -> Int {
        try #require(
            try objects(run, "corrections.jsonl").firstIndex { entry in
                let kinds = entry["kinds"] as? [String] ?? []
                return entry["table"] as? String == "subscriptions"
                    && !kinds.contains("missing_locally")
                    && (entry["after"] as? [String: Any])?[field] is String
            }, "no correction sets \(field)")
    }

    /// Edits a correction in every file that repeats it, so that only evidence and anchors tell.
    func editCorrection(
        _ run: Int, _ place: Int, _ body: (inout [String: Any]) throws -> Void
    ) throws {
        let old = try objects(run, "corrections.jsonl")[place]
        try edit(run, "corrections.jsonl", line: place, body)
        let new = try objects(run, "corrections.jsonl")[place]
        try editLines(run, "plan.json") { lines in
            for index in lines.indices
            where lines[index].contains("\"after\":\(Self.canonical(old["after"] ?? ""))")
                && lines[index].contains(old["original_transaction_id"] as? String ?? "?")
            {
                for member in ["after", "before", "apple_signed_date", "original_transaction_id"] {
                    lines[index] = lines[index].replacingOccurrences(
                        of: "\"\(member)\":\(Self.canonical(old[member] ?? ""))",
                        with: "\"\(member)\":\(Self.canonical(new[member] ?? ""))")
                }
            }
        }
        try reidentifyPlan(run)
    }

    /// The plan's identity, made anew in every file that states it.
    func reidentifyPlan(_ run: Int) throws {
        let lines = try text(run, "plan.json").components(separatedBy: "\n")
        let head = try #require(
            try JSONSerialization.jsonObject(
                with: Data((lines[0] + "]}").utf8)) as? [String: Any])
        let covered = head.filter { ["database", "job", "planned_by", "scope"].contains($0.key) }
        let items = lines.dropFirst().dropLast(2).map { line in
            (line.hasSuffix(",") ? String(line.dropLast()) : line)
                .replacing(/,"fate":"[a-z]*"/, with: "")
        }
        let text = ([Self.canonical(covered)] + items).map { $0 + "\n" }.joined()
        let old = try #require(head["plan_sha256"] as? String)
        for file in ["plan.json", "summary.json"] {
            try replace(old, with: Self.digest(text.utf8), run, file)
        }
        try seal(run, "plan.json")
    }

    /// Writes a root certificate for `--trusted-root`.
    func rootFile(of chain: TestSigningChain) throws -> String {
        let url = folder.url.appendingPathComponent("other-root.der")
        try Data(chain.rootDER).write(to: url)
        return url.path
    }
}
