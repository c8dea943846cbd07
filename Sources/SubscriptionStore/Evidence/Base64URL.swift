import Foundation

/// Base64url without padding (RFC 7515, section 2) by way of the library's base64.
///
/// Bytes are exchanged in arrays: `Data` checks its representation at every byte.
enum Base64URL {
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
        var text = [UInt8](bytes.base64EncodedData())
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "+"): text[index] = UInt8(ascii: "-")
            case UInt8(ascii: "/"): text[index] = UInt8(ascii: "_")
            default: break
            }
        }
        return Data(text)
    }
}
