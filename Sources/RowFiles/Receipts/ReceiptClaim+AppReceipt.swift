import Subscriptions

/// App receipts: PKCS#7 signed data around a set of attributes, each a type, a version and a value.
///
/// The types are those of Apple's "Receipt Validation Programming Guide", chapter "Receipt Fields",
/// which its receipt utilities read, too; type 0 is not named there, and holds what verifyReceipt
/// answers as `receipt_type`.
extension ReceiptClaim {
    private enum AttributeType {
        static let receiptType = 0
        static let bundleID = 2
        static let inAppPurchase = 17
        static let transactionID = 1703
        static let originalTransactionID = 1705
        static let expiresDate = 1708
    }

    /// The object identifier 1.2.840.113549.1.7.2.
    private static let signedData: [UInt8] = [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02,
    ]

    init(appReceipt bytes: [UInt8]) throws(BadField) {
        self.init()
        let payload = try Self.payload(of: bytes[...])
        try Self.forEachAttribute(of: payload) { type, value throws(BadField) in
            switch type {
            case AttributeType.receiptType:
                environment = try Self.environment(ofReceiptType: try Self.text(value))
            case AttributeType.bundleID: bundleID = try Self.text(value)
            case AttributeType.inAppPurchase: try addPurchase(value)
            default: break
            }
        }
    }

    /// What is signed: in `SignedData` the content of its `encapContentInfo`.
    private static func payload(of bytes: ArraySlice<UInt8>) throws(BadField) -> ArraySlice<UInt8> {
        typealias Identifier = BERReader.Identifier
        var file = BERReader(bytes)
        var info = BERReader(try file.content(Identifier.sequence))
        guard file.isAtEnd else { throw BERReader.malformed }
        guard try info.content(Identifier.objectIdentifier).elementsEqual(signedData) else {
            throw BadField("receipt is not signed data (PKCS#7)")
        }
        var wrapped = BERReader(try info.content(Identifier.explicitZero))
        var signed = BERReader(try wrapped.content(Identifier.sequence))
        _ = try signed.content(Identifier.integer)
        _ = try signed.content(Identifier.set)
        var content = BERReader(try signed.content(Identifier.sequence))
        _ = try content.content(Identifier.objectIdentifier)
        guard !content.isAtEnd else { throw BadField("receipt is a signature without its content") }
        var inner = BERReader(try content.content(Identifier.explicitZero))
        return try inner.octets()
    }

    private static func forEachAttribute(
        of payload: ArraySlice<UInt8>,
        _ body: (Int, ArraySlice<UInt8>) throws(BadField) -> Void
    ) throws(BadField) {
        var whole = BERReader(payload)
        var attributes = BERReader(try whole.content(BERReader.Identifier.set))
        while !attributes.isAtEnd {
            var attribute = BERReader(try attributes.content(BERReader.Identifier.sequence))
            let type = try attribute.smallInteger()
            _ = try attribute.content(BERReader.Identifier.integer)
            try body(type, try attribute.octets())
        }
    }

    /// A purchase with an empty expiry is no auto-renewable subscription; one that does not say is
    /// left to Apple's answer.
    private mutating func addPurchase(_ attributes: ArraySlice<UInt8>) throws(BadField) {
        var original: String?
        var transaction: String?
        var neverExpires = false
        try Self.forEachAttribute(of: attributes) { type, value throws(BadField) in
            switch type {
            case AttributeType.transactionID: transaction = try Self.text(value)
            case AttributeType.originalTransactionID: original = try Self.text(value)
            case AttributeType.expiresDate: neverExpires = try Self.text(value) == nil
            default: break
            }
        }
        guard !neverExpires else {
            otherPurchases += 1
            return
        }
        try add(original: original, transaction: transaction)
    }

    /// The text of a value; `nil` when it is empty.
    private static func text(_ value: ArraySlice<UInt8>) throws(BadField) -> String? {
        var reader = BERReader(value)
        guard let element = try reader.next() else { return nil }
        switch element.identifier {
        case BERReader.Identifier.utf8String, BERReader.Identifier.ia5String,
            BERReader.Identifier.printableString:
            guard let text = String(validating: element.content, as: UTF8.self) else {
                throw BERReader.malformed
            }
            return text.isEmpty ? nil : text
        default: throw BERReader.malformed
        }
    }

    /// The environment of a `receipt_type`; one that is not known says nothing.
    private static func environment(
        ofReceiptType text: String?
    ) throws(BadField) -> AppStoreEnvironment? {
        switch text {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        case "Xcode": throw BadField("receipt was made by Xcode; the App Store knows nothing of it")
        default: nil
        }
    }
}
