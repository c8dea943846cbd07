import FoundationEssentials
import Subscriptions

/// What a receipt claims, read without a look at its signature.
///
/// Nothing of it is believed: it says which subscriptions Apple is to be asked about, and what it says
/// of app and environment can only keep a line from being loaded.
struct ReceiptClaim {
    var bundleID: String?
    var environment: AppStoreEnvironment?
    /// The original transaction ids of what may be subscriptions, each once.
    private(set) var ids: [String] = []
    /// Purchases that the receipt shows to be none.
    var otherPurchases = 0

    private var known: Set<String> = []

    init() {}

    /// More bytes are no receipt; one of a thousand purchases has half a million.
    static let maximumBytes = 8 << 20

    /// Adds the original transaction id of a purchase; where the receipt has none, that of the
    /// transaction, for which Apple is asked just as well.
    mutating func add(original: String?, transaction: String?) throws(BadField) {
        guard let text = original ?? transaction else {
            otherPurchases += 1
            return
        }
        guard let id = TransactionID(text) else {
            throw BadField("receipt names a transaction", text.utf8, "that is no number of digits")
        }
        if known.insert(id.text).inserted { ids.append(id.text) }
    }

    /// Reads a receipt as the app or the App Store handed it out.
    ///
    /// - Parameter text: base64, in one line or several, with either alphabet.
    /// - Throws: `BadField` where it is none.
    init(receipt text: String) throws(BadField) {
        guard text.utf8.count <= Self.maximumBytes / 3 * 4 + 4 else {
            throw BadField("receipt is longer than \(Self.maximumBytes) bytes")
        }
        if text.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2 {
            throw BadField(
                "receipt is a JWS, not a receipt; give its originalTransactionId as "
                    + "original_transaction_id in a file of rows")
        }
        guard let bytes = Self.base64Decoded(text) else { throw BadField("receipt is not base64") }
        switch bytes.first(where: { !$0.isSpace }) {
        case BERReader.Identifier.sequence: try self.init(appReceipt: bytes)
        case UInt8(ascii: "{"): try self.init(transactionReceipt: bytes)
        default:
            throw BadField(
                "receipt is neither an app receipt (PKCS#7) nor a transaction receipt")
        }
    }

    static func base64Decoded(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 3)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\r"), UInt8(ascii: "\n"): break
            case UInt8(ascii: "-"): bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): bytes.append(UInt8(ascii: "/"))
            default: bytes.append(byte)
            }
        }
        while bytes.count % 4 != 0 { bytes.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(bytes)).map { Array($0) }
    }
}

extension UInt8 {
    /// White space of a property list.
    var isSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}
