/// A transaction id in the only form that may enter a URL: one to twenty ASCII digits.
///
/// Apple carries ids as JSON strings of decimal digits. Everything else in a local table (rounded
/// numbers, white space, `2.0E+15`) is a finding, never a request. Twenty digits hold every
/// unsigned 64-bit number; the limit keeps a corrupt column out of the path.
package struct TransactionID: Hashable, Sendable, CustomStringConvertible {
    package static let maximumDigits = 20

    package let text: String

    /// `nil` when the text is not a plain decimal number.
    package init?(_ text: String) {
        guard (1...Self.maximumDigits).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        self.text = text
    }

    package var description: String { text }
}
