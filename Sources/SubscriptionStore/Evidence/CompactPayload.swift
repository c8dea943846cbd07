import Foundation
import Subscriptions

/// A compact JWS without what can be put back: base64url, and Apple's constant header segment.
///
/// A notification carries further payloads with the same header inside its own, so the segment is
/// cut out of the decoded payload too. The exact text can be rebuilt; a text for which that would
/// not hold is refused here and kept as it is.
struct CompactPayload {
    /// The header segment, as text.
    let header: Data
    /// The decoded payload without its cuts, then the 64 bytes of the signature.
    let rest: Data
    /// Where the header segment was cut out of the decoded payload, in the order of the text.
    let cuts: [Int]

    private static let signatureBytes = 64
    private static let dot = UInt8(ascii: ".")

    /// The three parts of a compact JWS, as text.
    fileprivate struct Segments {
        let header: Data
        let payload: Data
        let signature: Data

        /// `nil` where there are not three, or the header is empty.
        ///
        /// The text is searched as an array, for the same reason as in `Base64URL`.
        init?(_ jws: Data) {
            let bytes = [UInt8](jws)
            guard let first = bytes.firstIndex(of: dot), first > 0,
                let last = bytes.lastIndex(of: dot), first < last,
                !bytes[(first + 1)..<last].contains(dot)
            else { return nil }
            header = Data(bytes[..<first])
            payload = Data(bytes[(first + 1)..<last])
            signature = Data(bytes[(last + 1)...])
        }
    }

    /// How many statements the payload makes: its own and those of the payloads inside.
    var statements: Int { 1 + cuts.count }

    /// A text of three parts with its payload decoded, which is all that can be read from some.
    struct Decoded {
        fileprivate let segments: Segments
        fileprivate let payload: Data

        /// `nil` where there are not three parts, or the payload is not base64url.
        init?(_ jws: Data) {
            guard let segments = Segments(jws), let payload = Base64URL.decode(segments.payload)
            else { return nil }
            self.segments = segments
            self.payload = payload
        }
    }

    /// The digests of the payloads that one carries inside its own.
    static func digests(insideOf jws: Decoded) -> [String] {
        let payload = jws.payload
        let opening = jws.segments.header + [dot]
        guard payload.count >= opening.count else { return [] }
        var digests: [String] = []
        var position = payload.startIndex
        while let found = payload.range(of: opening, in: position..<payload.endIndex) {
            let rest = payload[found.lowerBound...]
            let inner = rest.prefix { $0 != UInt8(ascii: "\"") }
            digests.append(Hexadecimal.sha256(of: inner))
            position = max(inner.endIndex, found.upperBound)
        }
        return digests
    }

    /// `nil` when rebuilding would not give the very same bytes.
    init?(_ jws: Data) {
        guard let decoded = Decoded(jws) else { return nil }
        self.init(jws, decoded)
    }

    /// The same for a text that has been decoded.
    init?(_ jws: Data, _ decoded: Decoded) {
        guard let signature = Base64URL.decode(decoded.segments.signature),
            signature.count == Self.signatureBytes
        else { return nil }
        header = decoded.segments.header
        (rest, cuts) = Self.cut(
            header + [Self.dot], outOf: decoded.payload, andAppend: signature)
        guard text == jws else { return nil }
    }

    init(header: Data, rest: Data, cuts: [Int]) {
        self.header = header
        self.rest = rest
        self.cuts = cuts
    }

    /// The text as received.
    var text: Data {
        let end = rest.endIndex - min(Self.signatureBytes, rest.count)
        var payload = Data()
        var position = rest.startIndex
        for cut in cuts {
            let next = min(max(position, rest.startIndex + min(max(0, cut), rest.count)), end)
            payload += rest[position..<next] + header + [Self.dot]
            position = next
        }
        payload += rest[position..<end]
        return header + [Self.dot] + Base64URL.encode(payload) + [Self.dot]
            + Base64URL.encode(Data(rest[end...]))
    }

    private static func cut(
        _ pattern: Data, outOf payload: Data, andAppend signature: Data
    ) -> (Data, [Int]) {
        var kept = Data()
        var cuts: [Int] = []
        var position = payload.startIndex
        while let found = payload.range(of: pattern, in: position..<payload.endIndex) {
            kept += payload[position..<found.lowerBound]
            cuts.append(kept.count)
            position = found.upperBound
        }
        return (kept + payload[position...] + signature, cuts)
    }
}

/// Base64url without padding (RFC 7515, section 2) by way of the library's base64.
enum Base64URL {
    /// Characters are exchanged in an array: `Data` checks its representation at every byte.
    static func decode(_ text: Data) -> Data? {
        var standard = [UInt8](text)
        for index in standard.indices {
            switch standard[index] {
            case UInt8(ascii: "-"): standard[index] = UInt8(ascii: "+")
            case UInt8(ascii: "_"): standard[index] = UInt8(ascii: "/")
            default: break
            }
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(standard))
    }

    static func encode(_ bytes: Data) -> Data {
        bytes.base64EncodedData(options: [.base64URLAlphabet, .omitPaddingCharacter])
    }
}
