import Crypto
import Foundation
import TestSupport
import Testing

/// A copy of a report folder in the hands of somebody who knows how it is made: whatever is edited,
/// digests, seals, hashes, counts and links can be computed anew.
final class ForgedReports {
    let folder: TemporaryFolder
    /// From the oldest to the newest, as `2026-11-21/20261121T…`.
    var runs: [String]

    var directory: URL { folder.url.appendingPathComponent("reports") }

    init(copyOf reports: URL) throws {
        folder = try TemporaryFolder()
        let copy = folder.url.appendingPathComponent("reports")
        try FileManager.default.copyItem(at: reports, to: copy)
        runs = try String(contentsOf: copy.appendingPathComponent("index.csv"), encoding: .utf8)
            .split(separator: "\r\n").dropFirst().map { String($0.split(separator: ",")[1]) }
    }

    // MARK: Files

    func url(_ run: Int, _ file: String = "") -> URL {
        directory.appendingPathComponent(runs[run] + "/" + file)
    }

    func text(_ run: Int, _ file: String) throws -> String {
        try String(contentsOf: url(run, file), encoding: .utf8)
    }

    func write(_ text: String, _ run: Int, _ file: String) throws {
        try Data(text.utf8).write(to: url(run, file))
    }

    func replace(_ old: String, with new: String, _ run: Int, _ file: String) throws {
        let before = try text(run, file)
        try #require(before.contains(old), "\(file) does not contain \(old)")
        try write(before.replacingOccurrences(of: old, with: new), run, file)
    }

    func editLines(
        _ run: Int, _ file: String, _ body: (inout [String]) throws -> Void
    ) throws {
        // By bytes: to `String`, the two at the end of a CSV line are one character.
        var lines = try Data(contentsOf: url(run, file))
            .split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
        try body(&lines)
        try write(lines.map { $0 + "\n" }.joined(), run, file)
    }

    /// Edits the fields of the first entitlement with such a change, and makes all digests anew.
    func editEntitlement(
        _ run: Int, change: String, _ body: (inout [String]) -> Void
    ) throws {
        try editLines(run, "entitlements.csv") { lines in
            let place = try #require(lines.firstIndex { $0.contains(",\(change),") })
            var fields = lines[place].split(separator: ",", omittingEmptySubsequences: false)
                .map(String.init)
            body(&fields)
            lines[place] = fields.joined(separator: ",")
        }
        try relink(from: run)
    }

    func index(_ body: (inout [String]) throws -> Void) throws {
        let url = directory.appendingPathComponent("index.csv")
        var lines = try String(contentsOf: url, encoding: .utf8)
            .components(separatedBy: "\r\n").dropLast().map { $0 }
        try body(&lines)
        try Data(lines.map { $0 + "\r\n" }.joined().utf8).write(to: url)
    }

    func pointLatest(to run: Int) throws {
        let link = directory.appendingPathComponent("latest").path
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: runs[run])
    }

    // MARK: JSON

    func objects(_ run: Int, _ file: String) throws -> [[String: Any]] {
        try text(run, file).split(separator: "\n").map { line in
            try #require(
                JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    func writeObjects(_ objects: [[String: Any]], _ run: Int, _ file: String) throws {
        try write(objects.map { Self.canonical($0) + "\n" }.joined(), run, file)
    }

    /// Edits one line of a JSON Lines file.
    func edit(
        _ run: Int, _ file: String, line: Int = 0, _ body: (inout [String: Any]) throws -> Void
    ) throws {
        var all = try objects(run, file)
        try body(&all[line])
        try writeObjects(all, run, file)
    }

    /// Edits a file that is one JSON object.
    func editWhole(
        _ run: Int, _ file: String, _ body: (inout [String: Any]) throws -> Void
    ) throws {
        var object = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: url(run, file)))
                as? [String: Any])
        try body(&object)
        try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
            .write(to: url(run, file))
    }

    /// Sorted names, no white space; the lines that it is used for hold neither booleans nor
    /// anything to escape.
    static func canonical(_ value: Any) -> String {
        switch value {
        case let object as [String: Any]:
            let members = object.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            return "{"
                + members.map { "\"\($0.key)\":\(canonical($0.value))" }
                .joined(separator: ",") + "}"
        case let list as [Any]: return "[" + list.map(canonical).joined(separator: ",") + "]"
        case let text as String: return "\"\(text)\""
        case is NSNull: return "null"
        default: return "\(value)"
        }
    }

    static func digest(_ bytes: some Sequence<UInt8>) -> String {
        SHA256.hash(data: Array(bytes)).map { String(format: "%02x", $0) }.joined()
    }

    // MARK: Computing anew

    /// The last line of `plan.json` or `undo.json`.
    func seal(_ run: Int, _ file: String) throws {
        try editLines(run, file) { lines in
            let sealed = lines.dropLast().map { $0 + "\n" }.joined()
            lines[lines.count - 1] = "],\"sha256\":\"\(Self.digest(sealed.utf8))\"}"
        }
    }

    /// Hashes of the ledger from a run on, with what is made from its entries.
    func rehashLedger(from first: Int, renumbering: Bool = false) throws {
        var previous = String(repeating: "0", count: 64)
        var number = 0
        for run in runs.indices {
            var entries = try objects(run, "corrections.jsonl")
            for place in entries.indices {
                number += 1
                if run >= first {
                    if renumbering { entries[place]["ledger_entry"] = number }
                    entries[place]["ledger_previous"] = previous
                    entries[place]["ledger_hash"] = nil
                    let sealed = previous + Self.canonical(entries[place])
                    entries[place]["ledger_hash"] = Self.digest(sealed.utf8)
                }
                previous = entries[place]["ledger_hash"] as? String ?? ""
            }
            guard run >= first else { continue }
            try writeObjects(entries, run, "corrections.jsonl")
            try rebuildInverse(of: entries, run)
            for file in ["summary.json", "manifest.json"] {
                try editWhole(run, file) { object in
                    object["ledger_head"] = previous
                    if file == "manifest.json" { object["corrections_applied"] = entries.count }
                    guard var fates = object["corrections"] as? [String: Any] else { return }
                    fates["applied"] = entries.count
                    object["corrections"] = fates
                }
            }
        }
    }

    private func rebuildInverse(of entries: [[String: Any]], _ run: Int) throws {
        try editLines(run, "undo.json") { lines in
            let items = entries.map { entry -> String in
                var item: [String: Any] = [:]
                for name in [
                    "app", "environment", "evidence", "evidence_renewal", "ledger_hash",
                    "original_transaction_id", "table", "transaction_id",
                ] { item[name] = entry[name] }
                item["before"] = entry["after"]
                item["after"] = entry["before"]
                item["undo_of"] = entry["ledger_entry"]
                let inserts =
                    entry["table"] as? String == "transactions"
                    || ["missing_locally", "purchase_missing"].contains {
                        (entry["kinds"] as? [String] ?? []).contains($0)
                    }
                item["action"] = inserts ? "delete" : "update"
                return Self.canonical(item)
            }
            let separated = items.enumerated().map {
                $0.element + ($0.offset < items.count - 1 ? "," : "")
            }
            lines = [lines[0]] + separated + [""]
        }
        try seal(run, "undo.json")
        let derivations = try rebuildDerivations(of: entries, run)
        let header = try text(run, "corrections.csv").components(separatedBy: "\r\n")[0]
        var rows = [header]
        for entry in entries {
            let after = entry["after"] as? [String: Any] ?? [:]
            for field in after.keys.sorted() {
                var values = entry
                values["field"] = field
                values["after"] = after[field]
                values["before"] = (entry["before"] as? [String: Any])?[field]
                if field == "status", let number = entry["ledger_entry"] as? Int {
                    values["derivation"] = derivations[number]
                }
                rows.append(
                    header.split(separator: ",").map { Self.csv(values[String($0)]) }
                        .joined(separator: ","))
            }
        }
        try write(rows.map { $0 + "\r\n" }.joined(), run, "corrections.csv")
    }

    /// Keeps the lines of entries that are still there.
    ///
    /// - Returns: The sentences by entry.
    private func rebuildDerivations(
        of entries: [[String: Any]], _ run: Int
    ) throws -> [Int: String] {
        let numbers = Set(entries.compactMap { $0["ledger_entry"] as? Int })
        let lines = try text(run, "derivations.jsonl").split(separator: "\n")
        var sentences: [Int: String] = [:]
        var kept = ""
        for (line, object) in zip(lines, try objects(run, "derivations.jsonl")) {
            guard let number = object["ledger_entry"] as? Int, numbers.contains(number) else {
                continue
            }
            sentences[number] = object["derivation"] as? String
            kept += line + "\n"
        }
        try write(kept, run, "derivations.jsonl")
        return sentences
    }

    private static func csv(_ value: Any?) -> String {
        switch value {
        case let text as String:
            return text.contains(",") ? "\"\(text)\"" : text
        case let list as [String]: return list.joined(separator: " ")
        case nil, is NSNull: return ""
        case let other?: return "\(other)"
        }
    }

    /// `manifest.json` and `SHA256SUMS` of a run.
    func refresh(_ run: Int) throws {
        try editWhole(run, "manifest.json") { manifest in
            let listed = (manifest["files"] as? [[String: Any]] ?? [])
                .compactMap { $0["name"] as? String }
            manifest["files"] = try listed.filter {
                FileManager.default.fileExists(atPath: url(run, $0).path)
            }.map { name -> [String: Any] in
                let data = try Data(contentsOf: url(run, name))
                return [
                    "name": name, "bytes": data.count, "sha256": Self.digest(data),
                    "lines": data.lineCount,
                ]
            }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: url(run).path)
            .filter { $0 != "SHA256SUMS" }.sorted()
        let sums = try names.map { name in
            "\(Self.digest(try Data(contentsOf: url(run, name))))  \(name)\n"
        }
        try write(sums.joined(), run, "SHA256SUMS")
    }

    func manifestDigest(_ run: Int) throws -> String {
        Self.digest(try Data(contentsOf: url(run, "manifest.json")))
    }

    /// Digests and links of a run and all that follow, and the index.
    func relink(from first: Int) throws {
        for run in runs.indices where run >= first {
            if run > 0 {
                try editWhole(run, "manifest.json") {
                    $0["previous"] = try manifestDigest(run - 1)
                }
            }
            try refresh(run)
        }
        try rewriteIndex()
    }

    /// A line per run, in their order, with what their manifests say.
    func rewriteIndex() throws {
        try index { lines in
            let header = lines[0].components(separatedBy: ",")
            let digest = try #require(header.firstIndex(of: "manifest_sha256"))
            let applied = try #require(header.firstIndex(of: "corrections_applied"))
            let known = Dictionary(
                lines.dropFirst().map { ($0.components(separatedBy: ",")[1], $0) }
            ) { first, _ in first }
            lines =
                try [lines[0]]
                + runs.indices.map { run in
                    var fields = try #require(known[runs[run]]).components(separatedBy: ",")
                    fields[digest] = try manifestDigest(run)
                    fields[applied] = String(
                        try PackedFile.lines(of: "corrections.jsonl", in: url(run)).count)
                    return fields.joined(separator: ",")
                }
        }
    }
}
