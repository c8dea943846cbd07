import Crypto
import Foundation
import Subscriptions

/// How bytes that somebody stored where a text belongs are shown.
///
/// A binary UUID as customer id is no text, and repairing it would give two customers one name. So
/// such bytes are shown in lowercase hexadecimal digits, and stay as they are in the table.
enum ShownBytes {
    /// The text that the bytes of a BLOB are: themselves where they are plain text.
    static func text(ofBlob bytes: some Collection<UInt8>) -> String {
        guard let text = String(validating: bytes, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return bytes.hexadecimal }
        return text
    }

    /// The text that the bytes of a TEXT are: themselves unless they are no UTF-8, or no text that a
    /// file of rows could hold.
    static func text(ofText bytes: some Collection<UInt8>) -> String {
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            return bytes.hexadecimal
        }
        return text
    }

    /// What is shown of a column where a text belongs and bytes are no value.
    static func valueText(of bytes: some Collection<UInt8>, isBlob: Bool) -> String {
        guard !isBlob, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self)
        else { return StoredValueText.of(Array(bytes)) }
        return text
    }
}

/// A stored value of the wrong form, as it is shown in findings: short, and safe in every file.
enum StoredValueText {
    private static let shownCharacters = 80
    private static let shownBytes = 40

    static func of(_ text: String) -> String {
        let start = text.prefix(shownCharacters)
        return start.endIndex == text.endIndex
            ? text : "\(start)… (\(text.utf8.count) bytes)"
    }

    /// Bytes as SQL spells them, `x'0aff'`.
    static func of(_ bytes: [UInt8]) -> String {
        let start = "x'\(bytes.prefix(shownBytes).hexadecimal)'"
        return bytes.count <= shownBytes ? start : "\(start)… (\(bytes.count) bytes)"
    }
}

/// SHA-256 in hexadecimal digits.
enum Hexadecimal {
    static func sha256(of text: some Collection<UInt8>) -> String {
        SHA256.hash(data: Array(text)).hexadecimal
    }
}
