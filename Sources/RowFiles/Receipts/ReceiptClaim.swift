import FoundationEssentials
import Subscriptions

/// The claims of a receipt, read without checking its signature.
///
/// Nothing of it is believed: it says which subscriptions Apple is to be asked about, and what it
/// says of app and environment can only keep a line from being loaded.
struct ReceiptClaim {
    var bundleID: String?
    var environment: AppStoreEnvironment?
    /// The original transaction ids of what may be subscriptions, each once.
    private(set) var ids: [String] = []
    /// Purchases that the receipt shows to be none.
    var otherPurchases = 0

    private var known: Set<String> = []

    init() {}

    /// More bytes are not a receipt; one of a thousand purchases has half a million.
    static let maximumBytes = 8 << 20

    /// Adds the original transaction id of a purchase; where the receipt has none, that of the
    /// transaction, for which Apple is asked just as well.
    mutating func add(original: String?, transaction: String?) throws(BadField) {
        guard let text = original ?? transaction else {
            otherPurchases += 1
            return
        }
        guard let id = TransactionID(text) else {
            throw BadField(
                "receipt names a transaction", text.utf8, "that is not a number of digits")
        }
        if known.insert(id.text).inserted { ids.append(id.text) }
    }

    /// Reads a receipt as the app or the App Store handed it out.
    ///
    /// - Parameter text: base64, in one line or several, with either alphabet.
    /// - Throws: `BadField` where it is none.
    init(receipt text: String) throws(BadField) {
        guard text.utf8.count <= Self.maximumBytes / 3 * 4 + 4 else {
            throw BadField("receipt is longer than \(Self.maximumBytes) bytes")
        }
        if text.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2 {
            throw BadField(
                "receipt is a JWS, not a receipt; give its originalTransactionId as "
                    + "original_transaction_id in a file of rows")
        }
        guard let bytes = Self.base64Decoded(text) else { throw BadField("receipt is not base64") }
        switch bytes.first(where: { !$0.isSpace }) {
        case BERReader.Identifier.sequence: try self.init(appReceipt: bytes)
        case UInt8(ascii: "{"): try self.init(transactionReceipt: bytes)
        default:
            throw BadField(
                "receipt is neither an app receipt (PKCS#7) nor a transaction receipt")
        }
    }

    static func base64Decoded(_ text: String) -> [UInt8]? {
        let ends = [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
        return [UInt8](lenientBase64: text.utf8.filter { !ends.contains($0) })
    }
}

/// App receipts: PKCS#7 signed data around a set of attributes, each a type, a version and a value.
///
/// The types are those of Apple's "Receipt Validation Programming Guide", chapter "Receipt Fields",
/// which its receipt utilities read as well; type 0 is not named there, and holds what
/// verifyReceipt answers as `receipt_type`.
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

    /// Returns the signed content: in `SignedData` the content of its `encapContentInfo`.
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

    /// A purchase with an empty expiry is not an auto-renewable subscription; one that does not say
    /// is left to Apple's answer.
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

/// Transaction receipts, as iOS 6 and earlier handed out one for each purchase: a property list in
/// ASCII, in which `purchase-info` is base64 of another one.
extension ReceiptClaim {
    init(transactionReceipt bytes: [UInt8]) throws(BadField) {
        self.init()
        let receipt = try ASCIIPropertyList.texts(in: bytes)
        guard let encoded = receipt["purchase-info"] else {
            throw BadField("receipt has no purchase-info")
        }
        guard let decoded = Self.base64Decoded(encoded) else {
            throw BadField("purchase-info of the receipt is not base64")
        }
        let purchase = try ASCIIPropertyList.texts(in: decoded)
        if receipt["environment"] == AppStoreEnvironment.sandbox.rawValue { environment = .sandbox }
        bundleID = purchase["bid"]
        try add(
            original: purchase["original-transaction-id"], transaction: purchase["transaction-id"])
    }
}

/// Property lists in the form of NeXTSTEP, as far as transaction receipts use it: one dictionary of
/// texts.
struct ASCIIPropertyList {
    static let malformed = BadField(
        "receipt is cut off or damaged: it is not a property list of texts")

    private var rest: ArraySlice<UInt8>

    /// The entries of the dictionary; empty texts are left out.
    static func texts(in bytes: [UInt8]) throws(BadField) -> [String: String] {
        var list = ASCIIPropertyList(rest: bytes[...])
        var entries: [String: String] = [:]
        guard list.take("{") else { throw malformed }
        while !list.take("}") {
            let key = try list.text()
            guard list.take("=") else { throw malformed }
            let value = try list.text()
            guard list.take(";") else { throw malformed }
            guard entries[key] == nil else { throw BadField("receipt names", key.utf8, "twice") }
            if !value.isEmpty { entries[key] = value }
        }
        return entries
    }

    /// Takes a sign, with the space before it.
    private mutating func take(_ sign: Unicode.Scalar) -> Bool {
        rest = rest.drop(while: \.isSpace)
        guard rest.first == UInt8(ascii: sign) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// A text in quotes, or a word.
    private mutating func text() throws(BadField) -> String {
        var content: [UInt8] = []
        if take("\"") {
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                // An escaped character is taken as it is: no value that is read needs more.
                guard byte == UInt8(ascii: "\\") else {
                    content.append(byte)
                    continue
                }
                guard let escaped = rest.popFirst() else { throw Self.malformed }
                content.append(escaped)
            }
        } else {
            content = Array(rest.prefix(while: Self.belongsToWord))
            rest = rest.dropFirst(content.count)
            guard !content.isEmpty else { throw Self.malformed }
        }
        guard let text = String(validating: content, as: UTF8.self) else { throw Self.malformed }
        return text
    }

    private static func belongsToWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "$"):
            true
        default: false
        }
    }
}

/// The elements of BER (X.690) one after the other, found in place.
///
/// A tree of elements, as swift-asn1 makes one, takes fifty times the bytes of a receipt that holds
/// nothing but empty elements, and receipts come from devices. So this reads only what is asked
/// for: definite and indefinite lengths, and OCTET STRINGs of one or several pieces.
struct BERReader {
    /// An element without its length and its end-of-contents octets.
    ///
    /// Its identifier is class, form and tag number, as they are in the first octet.
    typealias Element = (identifier: UInt8, content: ArraySlice<UInt8>)

    /// Identifier octets of the elements that receipts are made of.
    enum Identifier {
        static let integer: UInt8 = 0x02
        static let octetString: UInt8 = 0x04
        static let octetStringInPieces: UInt8 = 0x24
        static let objectIdentifier: UInt8 = 0x06
        static let utf8String: UInt8 = 0x0C
        static let printableString: UInt8 = 0x13
        static let ia5String: UInt8 = 0x16
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
        /// The tag that ASN.1 writes as [0] EXPLICIT.
        static let explicitZero: UInt8 = 0xA0
    }

    /// How deep elements of indefinite length may be in each other; a receipt has seven.
    private static let maximumDepth = 16
    /// How deep pieces of an OCTET STRING may, where one is usual; each is looked through again.
    private static let maximumPieceDepth = 4

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next element; `nil` at the end.
    mutating func next() throws(BadField) -> Element? {
        guard !rest.isEmpty else { return nil }
        let (identifier, length) = try header()
        guard identifier != 0 else { throw Self.malformed }
        guard let length else {
            guard identifier & 0x20 != 0 else { throw Self.malformed }
            return (identifier, try contentUpToItsEnd())
        }
        let content = rest.prefix(length)
        rest = rest.dropFirst(length)
        return (identifier, content)
    }

    /// The content of the next element, which must be of this kind.
    mutating func content(_ identifier: UInt8) throws(BadField) -> ArraySlice<UInt8> {
        guard let element = try next(), element.identifier == identifier else {
            throw Self.malformed
        }
        return element.content
    }

    /// The octets of the next element, an OCTET STRING.
    mutating func octets() throws(BadField) -> ArraySlice<UInt8> {
        guard let element = try next() else { throw Self.malformed }
        if element.identifier == Identifier.octetString { return element.content }
        var joined: [UInt8] = []
        joined.reserveCapacity(element.content.count)
        try Self.append(element, to: &joined, depth: 0)
        return joined[...]
    }

    /// The next element as a small number: the types of attributes are such.
    mutating func smallInteger() throws(BadField) -> Int {
        let content = try content(Identifier.integer)
        guard (1...4).contains(content.count) else { throw Self.malformed }
        return content.reduce(0) { $0 << 8 | Int($1) }
    }

    static let malformed = BadField(
        "receipt is cut off or damaged: its ASN.1 does not hold together")

    private static func append(
        _ element: Element, to joined: inout [UInt8], depth: Int
    ) throws(BadField) {
        switch element.identifier {
        case Identifier.octetString: joined.append(contentsOf: element.content)
        case Identifier.octetStringInPieces where depth < maximumPieceDepth:
            var pieces = BERReader(element.content)
            while let piece = try pieces.next() {
                try append(piece, to: &joined, depth: depth + 1)
            }
        default: throw malformed
        }
    }

    /// Identifier and length of an element; no length where it is indefinite.
    private mutating func header() throws(BadField) -> (identifier: UInt8, length: Int?) {
        guard let identifier = rest.popFirst() else { throw Self.malformed }
        if identifier & 0x1F == 0x1F {
            // A tag number of its own octets: of no interest here, so it is only left behind.
            while let octet = rest.popFirst(), octet & 0x80 != 0 {}
        }
        guard let first = rest.popFirst() else { throw Self.malformed }
        if first == 0x80 { return (identifier, nil) }
        var length = Int(first)
        if first > 0x80 {
            length = 0
            for _ in 0..<(first & 0x7F) {
                guard let octet = rest.popFirst(), length <= Int.max >> 8 else {
                    throw Self.malformed
                }
                length = length << 8 | Int(octet)
            }
        }
        guard length <= rest.count else { throw Self.malformed }
        return (identifier, length)
    }

    /// The content of an element of indefinite length; its end-of-contents octets are left behind.
    private mutating func contentUpToItsEnd() throws(BadField) -> ArraySlice<UInt8> {
        let whole = rest
        var open = 1
        while true {
            let end = rest.startIndex
            let (identifier, length) = try header()
            guard let length else {
                open += 1
                guard open <= Self.maximumDepth else { throw Self.malformed }
                continue
            }
            guard identifier == 0 else {
                rest = rest.dropFirst(length)
                continue
            }
            guard length == 0 else { throw Self.malformed }
            open -= 1
            if open == 0 { return whole[..<end] }
        }
    }
}
