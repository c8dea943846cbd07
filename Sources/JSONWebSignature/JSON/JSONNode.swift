/// One value of a JSON text: where it lies in the bytes and where the next sibling's node is.
struct JSONNode: Sendable {
    enum Kind: UInt8, Sendable {
        case null, yes, no, number, text, escapedText, array, object
    }

    var kind: Kind
    /// First byte; for texts the one after the quote.
    var start: Int32
    /// One past the last byte; for texts the closing quote.
    var end: Int32
    /// Index of the node after this one and everything inside it.
    var next: Int32
}
