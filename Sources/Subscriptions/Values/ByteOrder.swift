/// Texts by their UTF-8 bytes, the order of SQLite's BINARY collation and of everything we write.
///
/// Swift's own comparison takes equivalent spellings for equal. Among texts in ASCII, which nearly
/// all are, both say the same, and Swift's compares many bytes at once.
extension String {
    /// Whether both have the same bytes.
    func hasSameBytes(as other: String) -> Bool {
        // Texts with the same bytes are equal in any case.
        guard self == other else { return false }
        return isASCII && other.isASCII || utf8.elementsEqual(other.utf8)
    }

    /// Whether the bytes of this text come before those of another.
    func precedesByBytes(_ other: String) -> Bool {
        isASCII && other.isASCII
            ? self < other : utf8.lexicographicallyPrecedes(other.utf8)
    }

    /// Only texts that are known to be; others are compared byte by byte.
    private var isASCII: Bool { utf8Span.isKnownASCII }
}
