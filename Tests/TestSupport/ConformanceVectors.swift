import FoundationEssentials
package import JSONWebSignature

/// The published conformance vectors, where they are at hand.
///
/// They are data of others and no part of this package: `$TRUEUP_CONFORMANCE` names their folder,
/// else `../shared/conformance` beside the package is tried. Without them their suites are skipped,
/// loudly.
package enum ConformanceVectors {
    package static let absence: String =
        "conformance vectors not found; set TRUEUP_CONFORMANCE to their folder"

    package static let folder: String? = {
        var candidates: [String] = []
        if let named = ProcessInfo.processInfo.environment["TRUEUP_CONFORMANCE"] {
            candidates.append(named)
        }
        let parts = "\(#filePath)".split(separator: "/", omittingEmptySubsequences: false)
        // The package is three levels above this file.
        candidates.append(parts.dropLast(4).joined(separator: "/") + "/shared/conformance")
        let found = candidates.first {
            FileManager.default.fileExists(atPath: $0 + "/verification.json")
        }
        if found == nil { print("SKIPPED: \(absence)") }
        return found
    }()

    package static var areAvailable: Bool { folder != nil }

    /// The vectors of one file.
    package static func load(_ file: String) throws -> [ConformanceVector] {
        guard let folder, let data = FileManager.default.contents(atPath: "\(folder)/\(file)")
        else { return [] }
        let vectors = try JSONDocument(Array(data)).root.member("vectors")
        return (vectors?.elements ?? []).map(ConformanceVector.init(entry:))
    }
}

/// One vector: an entry of a file, with its members by name.
package struct ConformanceVector: Sendable, CustomStringConvertible {
    package let entry: JSONValue

    package var name: String { text("name") ?? "?" }

    package var description: String { name }

    package var isRequired: Bool { text("level") == "must" }

    package var level: String { text("level") ?? "?" }

    package var publicKeyInfrastructure: String { text("pki") ?? "none" }

    package func text(_ member: String) -> String? { entry.member(member)?.text }

    package func texts(_ member: String) -> [String] {
        entry.member(member)?.elements.compactMap(\.text) ?? []
    }

    package var requirement: String? { text("requires") }

    /// The input text, joined from its parts where it comes in parts.
    package var compactJWS: [UInt8] {
        if let jws = entry.member("jws")?.textBytes { return Array(jws) }
        var joined: [UInt8] = []
        for part in entry.member("jws_parts")?.elements ?? [] {
            if let bytes = part.textBytes {
                joined += bytes
            } else if let repeated = part.member("repeat")?.textBytes,
                let count = part.member("count")?.integer
            {
                for _ in 0..<count { joined += repeated }
            }
        }
        return joined
    }
}

extension JSONValue {
    /// The first member of this name.
    package func member(_ name: String) -> JSONValue? {
        members.first { $0.name.isText(name) }?.value
    }
}
