import FoundationEssentials

/// The error body of the API, `{"errorCode": …, "errorMessage": …}`, read leniently: it may be
/// missing, not JSON, or in a shape that proxies make.
struct APIErrorBody: Decodable {
    private static let longestMessage = 200

    let errorCode: Int?
    let errorMessage: String

    init(_ body: [UInt8]) {
        guard body.count < 65_536,
            let read = try? JSONDecoder().decode(APIErrorBody.self, from: Data(body))
        else {
            errorCode = nil
            errorMessage = ""
            return
        }
        self = read
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        errorCode = try? values.decode(Int.self, forKey: .errorCode)
        let message = (try? values.decode(String.self, forKey: .errorMessage)) ?? ""
        // It goes into reports and to the terminal of the person on call.
        errorMessage = String(
            String.UnicodeScalarView(
                message.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
                    .prefix(Self.longestMessage)))
    }

    private enum CodingKeys: CodingKey {
        case errorCode
        case errorMessage
    }
}
