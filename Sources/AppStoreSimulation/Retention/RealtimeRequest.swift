import Foundation
import Subscriptions

/// The subscription that a real-time request is about: a customer looks at it and may cancel it.
struct RealtimeSubject: Sendable {
    let originalTransactionID: String
    let product: UInt16
}

/// A real-time request, ready to be sent.
struct RealtimeCall: Sendable {
    let requestIdentifier: String
    let body: [UInt8]
}

/// Where real-time requests go.
struct RealtimeTarget: Sendable {
    /// The URL that the app configured.
    let configured: String
    /// The address that the simulator calls.
    let url: URL
}

extension World {
    /// The subject of a purchase; `nil` for a one-time purchase.
    func realtimeSubject(chain index: Int) -> RealtimeSubject? {
        guard chains[index].isSubscription, let current = chains[index].current else { return nil }
        return RealtimeSubject(
            originalTransactionID: originalTransactionID(chain: index), product: current.product)
    }
}

extension AppStoreService {
    /// `nil` while the app has not configured a URL, or one that is not on loopback without an address
    /// that replaces it.
    var realtimeTarget: RealtimeTarget? {
        guard let configured = retention.content(of: environment).realtimeURL,
            let url = retention.settings.address ?? URL(string: configured), url.isOnLoopback
        else { return nil }
        return RealtimeTarget(configured: configured, url: url)
    }

    /// A signed request of this moment.
    func realtimeCall(
        about subject: RealtimeSubject, locale: String
    ) throws(APIFailure) -> RealtimeCall {
        let signedDate = signedDate(at: clock.now)
        let identifier = UUID().uuidString.lowercased()
        let payload = encoder.realtimeRequest(
            subject, locale: locale, requestIdentifier: identifier, signedDate: signedDate)
        let jws = try signed(payload, at: signedDate)
        var json = JSONWriter(capacity: jws.count + 32)
        json.object { $0.field("signedPayload", jws: jws) }
        return RealtimeCall(requestIdentifier: identifier, body: json.bytes)
    }
}

extension PayloadEncoder {
    /// Source: Retention Messaging API, `DecodedRealtimeRequestBody`.
    fileprivate func realtimeRequest(
        _ subject: RealtimeSubject, locale: String, requestIdentifier: String,
        signedDate: Timestamp
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.object { json in
            json.field("originalTransactionId", subject.originalTransactionID)
            json.field("appAppleId", app.appAppleID)
            json.field("productId", catalogue.products[Int(subject.product)].id)
            json.field("userLocale", locale)
            json.field("requestIdentifier", requestIdentifier)
            json.field("environment", environment.rawValue)
            json.field("signedDate", signedDate)
        }
        return json.bytes
    }
}

extension URL {
    /// Whether it names this machine, over HTTP or HTTPS.
    var isOnLoopback: Bool {
        ["http", "https"].contains(scheme ?? "")
            && ["127.0.0.1", "localhost", "::1", "[::1]"].contains(host() ?? "")
    }
}
