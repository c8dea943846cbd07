import Foundation
import Testing

/// Files of a report that are packed, made and read by gzip's own program.
enum PackedFile {
    private static let contentBytes = 256 * 1024
    private static let names = [
        "corrections.jsonl", "derivations.jsonl", "evidence.jsonl", "plan.json", "undo.json",
    ]

    /// The lines of a file, plain or packed.
    static func lines(of name: String, in folder: URL) throws -> [Substring] {
        let plain = folder.appendingPathComponent(name)
        let data =
            try FileManager.default.fileExists(atPath: plain.path)
            ? Data(contentsOf: plain) : gzip("-dc", [plain.path + ".gz"])
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }

    /// Puts the plain form of each packed file in its place.
    static func unpack(in folder: URL) throws {
        for name in names {
            let packed = folder.appendingPathComponent(name + ".gz")
            guard FileManager.default.fileExists(atPath: packed.path) else { continue }
            try gzip("-dc", [packed.path]).write(to: folder.appendingPathComponent(name))
            try FileManager.default.removeItem(at: packed)
        }
    }

    /// Packs again what the manifest says is packed.
    static func pack(in folder: URL) throws {
        let manifest = try String(
            contentsOf: folder.appendingPathComponent("manifest.json"), encoding: .utf8)
        for name in names where manifest.contains("\"\(name).gz\"") {
            let plain = folder.appendingPathComponent(name)
            try packed(Data(contentsOf: plain))
                .write(to: folder.appendingPathComponent(name + ".gz"))
            try FileManager.default.removeItem(at: plain)
        }
    }

    /// Corrects what the manifest says of packed files: the lines and bytes of their content.
    static func describe(in folder: URL) throws {
        let file = folder.appendingPathComponent("manifest.json")
        var manifest = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        manifest["files"] = try (manifest["files"] as? [[String: Any]] ?? []).map { entry in
            var entry = entry
            guard let name = entry["name"] as? String, name.hasSuffix(".gz") else { return entry }
            let content = try gzip("-dc", [folder.appendingPathComponent(name).path])
            entry["lines"] = content.count { $0 == 0x0A }
            entry["content_bytes"] = content.count
            return entry
        }
        try JSONSerialization.data(withJSONObject: manifest, options: .sortedKeys).write(to: file)
        let sums = folder.appendingPathComponent("SHA256SUMS")
        let digest = ForgedReports.digest(try Data(contentsOf: file))
        let lines = try String(contentsOf: sums, encoding: .utf8).split(separator: "\n").map {
            $0.hasSuffix("  manifest.json") ? "\(digest)  manifest.json\n" : $0 + "\n"
        }
        try Data(lines.joined().utf8).write(to: sums)
    }

    /// Members of 256 KiB of content, each with its packed size in the extra field `TU`.
    static func packed(_ content: Data) throws -> Data {
        var packed = Data()
        var members: [Data: Data] = [:]
        var rest = content[...]
        while !rest.isEmpty {
            let part = Data(rest.prefix(contentBytes))
            rest = rest.dropFirst(contentBytes)
            let made = try members[part] ?? gzip("-nc", [], from: part)
            members = [part: made]
            // gzip writes ten bytes before what it has deflated, and eight after it.
            let size = made.count + 10
            var member = Data([0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 0xFF, 8, 0, 0x54, 0x55, 4, 0])
            member += (0..<4).map { UInt8(truncatingIfNeeded: size >> (8 * $0)) }
            packed += member + made.dropFirst(10)
        }
        return packed
    }

    private static func gzip(
        _ option: String, _ files: [String], from input: Data? = nil
    ) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["gzip", option] + files
        let output = Pipe()
        process.standardOutput = output
        if let input {
            let file = FileManager.default.temporaryDirectory
                .appendingPathComponent("content-\(UUID().uuidString)")
            try input.write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            process.standardInput = try FileHandle(forReadingFrom: file)
            try process.run()
        } else {
            process.standardInput = FileHandle.nullDevice
            try process.run()
        }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return data
    }
}
