import Foundation

/// Which properties the sources read, found by their names.
enum ReadProperties {
    /// By the program's commands and wiring.
    static let byProgram = names(in: ["Sources/trueup"])
    /// By the judgement and the run; the guards are extensions of the limits, and use bare names.
    static let byRun = names(in: ["Sources/Reconciliation", "Sources/ReconciliationRun"])
        .union(names(in: ["Sources/Reconciliation/Safety"], readBy: bareNames))

    /// Names that stand behind a value and a dot somewhere under these folders, outside of comments
    /// and of where settings are declared and shown.
    private static func names(
        in folders: [String], readBy names: ([UInt8]) -> [String] = names
    ) -> Set<String> {
        var found: Set<String> = []
        for file in folders.flatMap(files) where !isDeclaration(file) {
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            for line in text.split(separator: "\n")
            where !line.drop(while: \.isWhitespace).hasPrefix("//") {
                found.formUnion(names(Array(line.utf8)))
            }
        }
        return found
    }

    /// Neither `.recover`, a case, nor `.inbox(of:)`, a call, nor what a value is assigned to.
    private static func names(in line: [UInt8]) -> [String] {
        line.indices.dropFirst().compactMap { dot in
            guard line[dot] == UInt8(ascii: "."), isWord(line[dot - 1]) || ends(line[dot - 1])
            else { return nil }
            let name = line[(dot + 1)...].prefix(while: isWord)
            let rest = line[name.endIndex...]
            guard rest.first != UInt8(ascii: "("), !rest.starts(with: Array(" = ".utf8)) else {
                return nil
            }
            return String(decoding: name, as: UTF8.self)
        }
    }

    /// Neither `.maxChanges`, a case, nor `maxChanges:`, a label.
    private static func bareNames(in line: [UInt8]) -> [String] {
        line.split(whereSeparator: { !isWord($0) }).compactMap { name in
            let before = line[..<name.startIndex].last
            let after = line[name.endIndex...].first
            let isCaseOrLabel =
                before == UInt8(ascii: ".") || after == UInt8(ascii: ":")
                || after == UInt8(ascii: "(")
            return isCaseOrLabel ? nil : String(decoding: name, as: UTF8.self)
        }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || Character(Unicode.Scalar(byte)).isLetter
            || Character(Unicode.Scalar(byte)).isNumber
    }

    /// Whether a value may end with it.
    private static func ends(_ byte: UInt8) -> Bool { Array(")]?".utf8).contains(byte) }

    /// Properties that others read as parts of another one.
    static let readAs = [
        "AppSettings.bundleID": "identity", "AppSettings.environment": "identity",
        "Settings.notify": "notify",
    ]

    /// `sweepDays` of `JobSettings.sweepDays`.
    static func name(of property: String) -> String {
        property.split(separator: ".").last.map(String.init) ?? property
    }

    private static func isDeclaration(_ file: String) -> Bool {
        ["/trueup/Configuration/", "/trueup/Templates/", "/GuardLimit"].contains(
            where: file.contains)
    }

    private static func files(under folder: String) -> [String] {
        // …/Tests/trueupTests/Configuration/ReadProperties.swift
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(4)
        let root = parts.joined(separator: "/") + "/" + folder
        let names = FileManager.default.enumerator(atPath: root)?.allObjects as? [String] ?? []
        return names.filter { $0.hasSuffix(".swift") }.map { root + "/" + $0 }
    }
}
