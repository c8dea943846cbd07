import FoundationEssentials
import Subscriptions

/// The body of Get Notification History; reading it throws Apple's errors.
///
/// Source: App Store Server API, `NotificationHistoryRequest`.
struct NotificationHistoryRequest: Sendable {
    var startDate: Timestamp
    var endDate: Timestamp
    var type: String?
    var subtype: String?
    var transactionID: String?
    var onlyFailures: Bool
    /// `endDate` as sent, even if it lies in the future.
    private let askedEnd: Int64

    private struct Body: Decodable {
        var startDate: Int64?
        var endDate: Int64?
        var notificationType: String?
        var notificationSubtype: String?
        var transactionId: String?
        var originalTransactionId: String?
        var onlyFailures: Bool?
    }

    /// `now`: replaces a later `endDate`.
    init(
        body: [UInt8], now: Timestamp, environment: SimulatedEnvironment
    ) throws(APIFailure) {
        let decoded: Body
        do {
            decoded = try JSONDecoder().decode(Body.self, from: Data(body))
        } catch {
            throw .generalBadRequest
        }
        guard let start = decoded.startDate, start >= 0 else { throw .invalidStartDate }
        guard let end = decoded.endDate, end >= 0 else { throw .invalidEndDate }
        guard start < end else { throw .startDateAfterEndDate }
        let oldest = now.adding(
            milliseconds: -environment.notificationHistoryDays * CivilCalendar.millisecondsPerDay)
        guard start >= oldest.unixMilliseconds else { throw .startDateTooFarInPast }
        startDate = Timestamp(unixMilliseconds: start)
        askedEnd = end
        endDate = min(Timestamp(unixMilliseconds: end), now)
        type = decoded.notificationType
        subtype = decoded.notificationSubtype
        transactionID = decoded.transactionId ?? decoded.originalTransactionId
        onlyFailures = decoded.onlyFailures ?? false
        if type != nil, transactionID != nil { throw .multipleFiltersSupplied }
        guard let type else {
            if subtype != nil { throw .invalidNotificationType }
            return
        }
        guard NotificationEvent.exists(type: type, subtype: subtype) else {
            throw .invalidNotificationType
        }
    }

    /// A digest of the body's values: a page token is only valid with the same values.
    ///
    /// The bytes may differ from page to page, because the order of JSON members is free.
    var fingerprint: UInt64 {
        let parts = [
            String(startDate.unixMilliseconds), String(askedEnd), type ?? "", subtype ?? "",
            transactionID ?? "", String(onlyFailures),
        ]
        return PageTokens.digest(Array(parts.joined(separator: "\u{1F}").utf8))
    }

    func admits(_ record: NotificationRecord) -> Bool {
        guard let type else { return true }
        return record.event.type == type && (subtype == nil || record.event.subtype == subtype)
    }
}
