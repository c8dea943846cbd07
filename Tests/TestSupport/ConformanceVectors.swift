import FoundationEssentials
package import JSONWebSignature

/// The conformance vectors of `Tests/Conformance`; its README says where they come from.
package enum ConformanceVectors {
    /// …/Tests/Conformance, from …/Tests/TestSupport/ConformanceVectors.swift.
    private static let folder: String =
        "\(#filePath)".split(separator: "/", omittingEmptySubsequences: false)
        .dropLast(2).joined(separator: "/") + "/Conformance"

    /// The vectors of one file.
    ///
    /// - Throws: `CocoaError` where the file cannot be read, `JSONWebSignatureError` where it is no
    ///   JSON: a suite without its vectors has failed.
    package static func load(_ file: String) throws -> [ConformanceVector] {
        let data = try Data(contentsOf: URL(filePath: "\(folder)/\(file)"))
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
