import Foundation

/// An app receipt as the App Store writes it, in DER or BER, with a signature that nobody checks.
package struct TestReceipt: Sendable {
    /// A purchase in it; `nil` leaves an attribute out, an empty text leaves its value empty.
    package struct Purchase: Sendable {
        package var original: String?
        package var transaction: String?
        package var expires: String?

        package init(
            _ original: String?, transaction: String? = nil,
            expires: String? = "2026-12-20T03:17:04Z"
        ) {
            self.original = original
            self.transaction = transaction ?? original
            self.expires = expires
        }
    }

    /// Definite lengths, or, as Xcode does, indefinite ones around texts of several pieces.
    package enum Encoding: Sendable, CaseIterable {
        case der, ber
    }

    package var bundleID: String? = "com.example.app"
    package var receiptType: String? = "Production"
    package var purchases: [Purchase]
    package var encoding: Encoding

    package init(_ purchases: [Purchase], encoding: Encoding = .der) {
        self.purchases = purchases
        self.encoding = encoding
    }

    package var base64: String { Data(bytes).base64EncodedString() }

    package var bytes: [UInt8] {
        let data: [UInt8] = [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
        let signedData: [UInt8] = [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
        let content = wrapped(0x30, data + wrapped(0xA0, pieces(payload)))
        let signed = Self.element(0x02, [1]) + Self.element(0x31, []) + content
        let certificates = Self.element(0xA0, Self.element(0x30, Array(repeating: 5, count: 300)))
        let signers = Self.element(0x31, [])
        return wrapped(
            0x30, signedData + wrapped(0xA0, wrapped(0x30, signed + certificates + signers)))
    }

    private var payload: [UInt8] {
        var attributes = Self.attribute(8, Self.element(0x16, []))
        if let receiptType { attributes += Self.attribute(0, Self.text(receiptType)) }
        if let bundleID { attributes += Self.attribute(2, Self.text(bundleID)) }
        for purchase in purchases {
            var values = Self.attribute(1701, Self.element(0x02, [1]))
            values += Self.attribute(1702, Self.text("video.monthly"))
            if let id = purchase.transaction { values += Self.attribute(1703, Self.text(id)) }
            if let id = purchase.original { values += Self.attribute(1705, Self.text(id)) }
            if let time = purchase.expires {
                values += Self.attribute(1708, Self.element(0x16, Array(time.utf8)))
            }
            attributes += Self.attribute(17, Self.element(0x31, values))
        }
        return Self.element(0x31, attributes)
    }

    private static func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
        let number = type < 128 ? [UInt8(type)] : [UInt8(type >> 8), UInt8(type & 0xFF)]
        return element(
            0x30, element(0x02, number) + element(0x02, [1]) + element(0x04, value))
    }

    private static func text(_ text: String) -> [UInt8] { element(0x0C, Array(text.utf8)) }

    /// An element of definite length.
    package static func element(_ identifier: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            switch count {
            case ..<128: [UInt8(count)]
            case ..<65536: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
            default: [0x83, UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
            }
        return [identifier] + length + content
    }

    private func wrapped(_ identifier: UInt8, _ content: [UInt8]) -> [UInt8] {
        encoding == .der
            ? Self.element(identifier, content) : [identifier, 0x80] + content + [0, 0]
    }

    private func pieces(_ octets: [UInt8]) -> [UInt8] {
        guard encoding == .ber else { return Self.element(0x04, octets) }
        let pieces = stride(from: 0, to: octets.count, by: 100).flatMap { begin in
            Self.element(0x04, Array(octets[begin..<min(begin + 100, octets.count)]))
        }
        return wrapped(0x24, pieces)
    }
}

/// A transaction receipt of iOS 6.
package struct TestTransactionReceipt: Sendable {
    /// What `purchase-info` holds.
    package var purchase: [String: String]
    package var environment: String?

    package init(_ purchase: [String: String], environment: String? = nil) {
        self.purchase = purchase
        self.environment = environment
    }

    package var base64: String {
        let info = Data(Self.list(purchase).utf8).base64EncodedString()
        var entries = ["signature": "AAEC+/==", "purchase-info": info, "pod": "7"]
        entries["signing-status"] = "0"
        entries["environment"] = environment
        return Data(Self.list(entries).utf8).base64EncodedString()
    }

    private static func list(_ entries: [String: String]) -> String {
        "{\n"
            + entries.sorted { $0.key < $1.key }.map { "\t\"\($0.key)\" = \"\($0.value)\";\n" }
            .joined()
            + "}"
    }
}
