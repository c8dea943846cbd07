/// The body of a refusal.
///
/// Apple sends none with a 401, and proxies send HTML: then both members are absent. Classify by
/// the code first and by the HTTP status otherwise. Source: App Store Server API, error codes.
package struct ErrorPayload: AppStoreModel, Hashable {
    package static let modelName = "error"

    package let errorCode: Int?
    package let errorMessage: String?

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        errorCode = try reader.integer("errorCode").flatMap { Int(exactly: $0) }
        errorMessage = try reader.text("errorMessage")
    }

    /// Reads what is readable; never fails.
    package init(body: [UInt8]) {
        do {
            self = try ErrorPayload(json: body)
        } catch {
            errorCode = nil
            errorMessage = nil
        }
    }
}
