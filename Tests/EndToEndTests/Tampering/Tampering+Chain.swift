import Foundation
import TestSupport
import Testing

extension Tampering {
    /// Nights, index and link.
    static let chain = [
        Tampering("a night in the middle is removed", names: "index.csv", "deleted") {
            try FileManager.default.removeItem(at: $0.url(Night.second))
        },
        Tampering("its line in the index is removed too", names: "no run here has") { reports in
            try FileManager.default.removeItem(at: reports.url(Night.second))
            try reports.index { $0.remove(at: Night.second + 1) }
        },
        Tampering("a night is written anew", names: "written again since") { reports in
            try reports.editWhole(Night.second, "summary.json") { $0["messages"] = ["All well."] }
            try reports.refresh(Night.second)
        },
        Tampering("two nights change places", names: "ledger") { reports in
            reports.runs.swapAt(Night.second, Night.newest)
            try reports.relink(from: Night.second)
            try reports.pointLatest(to: Night.newest)
        },
        Tampering("a night is inserted", names: "runs follow", "is not listed") { reports in
            try copy(Night.second, of: reports, as: "20261121T000000Z-abcdef") {
                $0.replacingOccurrences(of: "\"messages\"", with: "\"notes\"")
            }
        },
        Tampering("a night is copied", names: "it is a copy of", "20261121T000000Z-abcdef") {
            try copy($0.runs[Night.second], of: $0, as: "20261121T000000Z-abcdef") { $0 }
        },
        Tampering("a night is renamed", names: "it was moved or renamed") { reports in
            let name = "2026-01-01/20260101T000000Z-abcdef"
            let target = reports.directory.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.moveItem(at: reports.url(Night.second), to: target)
            let old = reports.runs[Night.second]
            try reports.index { lines in
                lines = lines.map { $0.replacingOccurrences(of: old, with: name) }
            }
        },
        Tampering("a night's folder is exchanged for a link", names: "it is a link") { reports in
            let moved = reports.folder.url.appendingPathComponent("moved")
            try FileManager.default.moveItem(at: reports.url(Night.second), to: moved)
            try FileManager.default.createSymbolicLink(
                atPath: reports.directory.appendingPathComponent(reports.runs[Night.second]).path,
                withDestinationPath: moved.path)
        },
        Tampering("a night calls itself the first", names: "calls itself the first") { reports in
            try reports.editWhole(Night.second, "manifest.json") { $0["previous"] = NSNull() }
            try reports.refresh(Night.second)
            for run in [Night.check, Night.newest] {
                try reports.editWhole(run, "manifest.json") {
                    $0["previous"] = try reports.manifestDigest(run - 1)
                }
                try reports.refresh(run)
            }
            try reports.rewriteIndex()
        },
        Tampering("a number in the index is edited", names: "index.csv:2", "matched") {
            try $0.index { lines in
                let column = lines[0].components(separatedBy: ",").firstIndex(of: "matched") ?? 0
                var fields = lines[1].components(separatedBy: ",")
                fields[column] += "0"
                lines[1] = fields.joined(separator: ",")
            }
        },
        Tampering("a narrowing is made up in the index", names: "index.csv:2", "scope") {
            try $0.index { lines in
                let column = lines[0].components(separatedBy: ",").firstIndex(of: "scope") ?? 0
                var fields = lines[1].components(separatedBy: ",")
                fields[column] = "--limit 5"
                lines[1] = fields.joined(separator: ",")
            }
        },
        Tampering("a column of the index is taken out", names: "index.csv:1", "scope") {
            try $0.index { lines in
                let column = lines[0].components(separatedBy: ",").firstIndex(of: "scope") ?? 0
                for place in lines.indices {
                    var fields = lines[place].components(separatedBy: ",")
                    fields.remove(at: column)
                    lines[place] = fields.joined(separator: ",")
                }
            }
        },
        Tampering(
            "a night of another database is slipped in", names: "manifest.json", "its database is"
        ) {
            try $0.editWhole(Night.newest, "manifest.json") {
                $0["database"] = String(repeating: "0", count: 32)
            }
            try $0.relink(from: Night.newest)
        },
        Tampering("a line of the index is removed", names: "index.csv", "is not listed") {
            try $0.index { $0.remove(at: 2) }
        },
        Tampering("lines of the index change places", names: "index.csv", "chain of manifests") {
            try $0.index { $0.swapAt(1, 2) }
        },
        Tampering("the index is removed", names: "index.csv") {
            try FileManager.default.removeItem(
                at: $0.directory.appendingPathComponent("index.csv"))
        },
        Tampering("the link points to another night", names: "latest", "the newest run is") {
            try $0.pointLatest(to: Night.second)
        },
        Tampering("the link is removed", names: "latest", "no link") {
            try FileManager.default.removeItem(at: $0.directory.appendingPathComponent("latest"))
        },
        Tampering("the newest night is removed", names: "index.csv", "deleted") {
            try FileManager.default.removeItem(at: $0.url(Night.newest))
            try $0.pointLatest(to: Night.check)
        },
        Tampering(
            "the newest night is removed with every trace", names: "anchor",
            anchor: .manifest(Night.newest)
        ) {
            try FileManager.default.removeItem(at: $0.url(Night.newest))
            try $0.index { $0.removeLast() }
            try $0.pointLatest(to: Night.check)
        },
        Tampering(
            "everything from a night on is written anew", names: "anchor",
            anchor: .manifest(Night.second)
        ) { reports in
            try reports.editWhole(Night.second, "summary.json") { $0["messages"] = ["All well."] }
            try reports.relink(from: Night.second)
        },
        Tampering("all nights are removed, the index stays", names: "index.csv", "deleted") {
            for run in $0.runs.indices { try FileManager.default.removeItem(at: $0.url(run)) }
        },
    ]

    private static func copy(
        _ run: Int, of reports: ForgedReports, as name: String, _ body: (String) -> String
    ) throws {
        let old = reports.runs[run]
        let folder = try copy(old, of: reports, as: name) { $0 }
        for file in ["manifest.json", "summary.json"] {
            let url = folder.appendingPathComponent(file)
            let text = try String(contentsOf: url, encoding: .utf8)
            let id = old.components(separatedBy: "/")[1]
            try Data(body(text).replacingOccurrences(of: id, with: name).utf8).write(to: url)
        }
    }

    @discardableResult
    private static func copy(
        _ run: String, of reports: ForgedReports, as name: String, _ body: (String) -> String
    ) throws -> URL {
        let source = reports.directory.appendingPathComponent(run)
        let target = source.deletingLastPathComponent().appendingPathComponent(name)
        try FileManager.default.copyItem(at: source, to: target)
        return target
    }
}
