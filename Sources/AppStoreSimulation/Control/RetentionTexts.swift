import Foundation

/// The body of `retention`: where real-time requests are sent instead of to the configured URLs.
struct RetentionAddressText: Decodable {
    var address: URL?

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["address"])
        guard keys.names.contains("address") else {
            throw keys.refused("it lacks its \"address\", which may be null.")
        }
        guard let text = try keys.value(String.self, "address") else { return }
        guard let url = URL(string: text), url.isOnLoopback else {
            throw keys.refused("\"address\" must be HTTP or HTTPS on loopback.", at: "address")
        }
        address = url
    }
}

/// The body of `retention/review`: Apple's review of an image or a message.
struct RetentionReviewText: Decodable {
    let environment: SimulatedEnvironment
    let image: String?
    let message: String?
    let state: RetentionContent.Review

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["environment", "image", "message", "state"])
        environment = try keys.environment() ?? .production
        image = try keys.value(String.self, "image")?.lowercased()
        message = try keys.value(String.self, "message")?.lowercased()
        guard (image == nil) != (message == nil) else {
            throw keys.refused("it names an \"image\" or a \"message\".")
        }
        let text = try keys.value(String.self, "state") ?? ""
        guard let state = RetentionContent.Review(rawValue: text) else {
            throw keys.refused("\"state\" is PENDING, APPROVED or REJECTED.", at: "state")
        }
        self.state = state
    }
}

/// The body of `retention/request`: a customer looks at a subscription that he may cancel.
struct RetentionRequestText: Decodable {
    let customer: String
    let environment: SimulatedEnvironment?
    let locale: String
    let timeoutMilliseconds: Int

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder, allowed: ["customer", "environment", "locale", "timeout_ms"])
        guard let customer = try keys.value(String.self, "customer") else {
            throw keys.refused("it lacks its \"customer\".")
        }
        self.customer = customer
        environment = try keys.environment()
        locale = try keys.value(String.self, "locale") ?? "en-US"
        guard AppStoreService.isLocale(locale) else {
            throw keys.refused("\"locale\" must be like en-US.", at: "locale")
        }
        timeoutMilliseconds =
            try keys.number("timeout_ms", in: 1...60_000)
            ?? PerformanceTest.responseTimeThreshold
    }
}
