package import Subscriptions

/// The body of Get Notification History for a whole app.
///
/// Every page of a window must be asked with the same body, or Apple refuses the pagination token;
/// equal windows give equal bytes. Source: App Store Server API, NotificationHistoryRequest.
package struct NotificationHistoryRequest: Sendable {
    package let startDate: Timestamp
    package let endDate: Timestamp

    package init(window: NotificationWindow) {
        self.startDate = window.start
        self.endDate = window.end
    }

    package var json: [UInt8] {
        let body = CanonicalJSON.object([
            "startDate": .integer(startDate.unixMilliseconds),
            "endDate": .integer(endDate.unixMilliseconds),
        ])
        return Array(body.rendered.utf8)
    }
}
