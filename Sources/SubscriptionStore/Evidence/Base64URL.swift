import Foundation

/// Base64url without padding (RFC 7515, section 2) by way of the library's base64.
enum Base64URL {
    static func decode(_ text: Data) -> Data? {
        var standard = Data(capacity: text.count + 3)
        for byte in text {
            switch byte {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            default: standard.append(byte)
            }
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: standard)
    }

    static func encode(_ bytes: Data) -> Data {
        var text = Data(capacity: bytes.count / 3 * 4 + 4)
        for byte in bytes.base64EncodedData() {
            switch byte {
            case UInt8(ascii: "+"): text.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): text.append(UInt8(ascii: "_"))
            case UInt8(ascii: "="): break
            default: text.append(byte)
            }
        }
        return text
    }
}
