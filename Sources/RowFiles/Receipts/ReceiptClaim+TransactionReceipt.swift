import Subscriptions

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
enum ASCIIPropertyList {
    static let malformed = BadField(
        "receipt is cut off or damaged: it is no property list of texts")

    /// The entries of the dictionary; empty texts are left out.
    static func texts(in bytes: [UInt8]) throws(BadField) -> [String: String] {
        var scanner = Scanner(rest: bytes[...])
        var entries: [String: String] = [:]
        guard scanner.take("{") else { throw malformed }
        while !scanner.take("}") {
            let key = try scanner.text()
            guard scanner.take("=") else { throw malformed }
            let value = try scanner.text()
            guard scanner.take(";") else { throw malformed }
            guard entries[key] == nil else { throw BadField("receipt names", key.utf8, "twice") }
            if !value.isEmpty { entries[key] = value }
        }
        return entries
    }

    private struct Scanner {
        var rest: ArraySlice<UInt8>

        /// Takes a sign, with the space before it.
        mutating func take(_ sign: Unicode.Scalar) -> Bool {
            rest = rest.drop(while: \.isSpace)
            guard rest.first == UInt8(ascii: sign) else { return false }
            rest = rest.dropFirst()
            return true
        }

        /// A text in quotes, or a word.
        mutating func text() throws(BadField) -> String {
            var content: [UInt8] = []
            if take("\"") {
                while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                    // What is escaped stands for itself: no value that is read needs more.
                    guard byte == UInt8(ascii: "\\") else {
                        content.append(byte)
                        continue
                    }
                    guard let escaped = rest.popFirst() else { throw malformed }
                    content.append(escaped)
                }
            } else {
                content = Array(rest.prefix(while: Self.belongsToWord))
                rest = rest.dropFirst(content.count)
                guard !content.isEmpty else { throw malformed }
            }
            guard let text = String(validating: content, as: UTF8.self) else { throw malformed }
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
}
