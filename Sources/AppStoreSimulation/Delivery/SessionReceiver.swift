import Foundation

/// A receiver with HTTPS or an IPv6 address, reached through URLSession.
struct SessionReceiver: NotificationReceiver {
    private static let timeout = Duration.seconds(5)

    let url: URL

    func post(_ body: [UInt8]) async -> UInt8 {
        let answer = await SessionPost.send(body, to: url, timeout: Self.timeout)
        return answer.failureName.map { NotificationRecord.Delivery.outcome($0) } ?? 0
    }
}
