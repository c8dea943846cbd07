package import JSONWebSignature

/// A JSON object of the App Store Server API.
///
/// Every member is optional, as in Apple's own models: absent and null are the same. Members and
/// enumeration values that this version does not know are kept and counted, never refused.
package protocol AppStoreModel: Sendable {
    /// The prefix of the names of unknown members and values, for example `transaction`.
    static var modelName: String { get }

    init(reading reader: inout ObjectReader) throws(UndecodableModel)
}

extension AppStoreModel {
    /// Reads an object; one that has a known member twice is undecodable.
    package init(_ value: JSONValue) throws(UndecodableModel) {
        guard var reader = ObjectReader(value, name: Self.modelName) else {
            throw UndecodableModel("\(Self.modelName) is not a JSON object")
        }
        self = try Self(reading: &reader)
        _ = try reader.finish()
    }

    /// Reads a whole JSON text.
    package init(json: [UInt8]) throws(UndecodableModel) {
        let document: JSONDocument
        do {
            document = try JSONDocument(json)
        } catch {
            throw UndecodableModel("\(Self.modelName): \(error.detail)")
        }
        try self.init(document.root)
    }
}

/// The unsigned members of an answer that name its app.
package protocol AnswerEnvelope {
    var environment: String? { get }
    var bundleId: String? { get }
    var appAppleId: Int64? { get }
}

/// Why a JSON text cannot be decoded: which member, and what is wrong with it.
package struct UndecodableModel: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
