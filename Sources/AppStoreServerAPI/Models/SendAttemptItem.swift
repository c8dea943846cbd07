package import Subscriptions

/// One delivery of a notification that Apple attempted.
///
/// Source: App Store Server API, sendAttemptItem.
package struct SendAttemptItem: AppStoreModel {
    package static let modelName = "sendAttempts"

    package let attemptDate: Timestamp?
    package let sendAttemptResult: String?
    /// Members and values that this version does not know.
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        attemptDate = try reader.moment("attemptDate", .strict)
        sendAttemptResult = try reader.enumeration(
            "sendAttemptResult", known: KnownValues.sendAttemptResults, .strict)
        unknowns = try reader.finish()
    }
}
