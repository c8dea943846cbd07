extension APIFailure {
    /// The message of any code that Apple documents, for faults that answer with it.
    static func message(of code: Int) -> String {
        if let known = APIFailure(rawValue: code) { return known.message }
        if let message = further[code] { return message }
        return switch code / 10_000 {
        case 403: "Forbidden."
        case 404: "Not found."
        case 409: "Conflict."
        case 429: "Rate limit exceeded."
        case 500...599: "An unknown error occurred."
        default: "Bad request."
        }
    }

    /// Codes of fields and endpoints that the simulation does not judge itself.
    private static let further: [Int: String] = [
        4_000_032: "Invalid account tenure.",
        4_000_033: "Invalid app account token.",
        4_000_034: "Invalid consumption status.",
        4_000_037: "Invalid lifetime dollars purchased.",
        4_000_038: "Invalid lifetime dollars refunded.",
        4_000_039: "Invalid platform.",
        4_000_040: "Invalid play time.",
        4_000_042: "Invalid user status.",
        4_000_043: "Transaction is not a consumable.",
        4_000_161: "Invalid image.",
        4_000_162: "Header is too long.",
        4_000_163: "Body is too long.",
        4_000_164: "Invalid locale.",
        4_000_175: "Alternative text is too long.",
        4_030_014: "Maximum number of images reached.",
        4_030_016: "Maximum number of messages reached.",
        4_030_017: "Message is not approved.",
        4_030_018: "Image is not approved.",
        4_030_019: "Image is in use.",
        4_040_014: "Image not found.",
        4_040_015: "Message not found.",
        4_090_000: "Image already exists.",
        4_090_001: "Message already exists.",
    ]
}
