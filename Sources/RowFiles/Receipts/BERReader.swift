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
