import Foundation

/// What the app has set up by the Retention Messaging API, as far as a restart keeps it.
struct RetentionSettings: Codable, Hashable, Sendable {
    private var production = RetentionContent()
    private var sandbox = RetentionContent()
    /// A passed test in the sandbox is required before the production URL is configured.
    var hasPassedTest = false
    /// Where requests are sent instead of to the configured URLs; `nil`: to those.
    var address: URL?

    subscript(environment: SimulatedEnvironment) -> RetentionContent {
        get { environment == .production ? production : sandbox }
        set {
            if environment == .production { production = newValue } else { sandbox = newValue }
        }
    }
}

/// Images, messages, defaults and the real-time URL of one environment.
struct RetentionContent: Codable, Hashable, Sendable {
    /// Apple's `imageState` and `messageState`.
    enum Review: String, Codable, Sendable, CaseIterable {
        case pending = "PENDING"
        case approved = "APPROVED"
        case rejected = "REJECTED"
    }

    /// What a default message is configured for.
    struct DefaultPlace: Codable, Hashable, Sendable {
        let product: UInt16
        let locale: String
    }

    var images = RetentionUploads<RetentionImage>()
    var messages = RetentionUploads<RetentionMessage>()
    /// Identifiers of messages.
    var defaults: [DefaultPlace: String] = [:]
    var realtimeURL: String?

    /// Why a message cannot be shown; `nil` if it can.
    func objection(toShowing id: String) -> APIFailure? {
        guard let message = messages[id] else { return .messageNotFound }
        guard message.review == .approved else { return .messageNotApproved }
        let isApproved = message.imageIDs.allSatisfy { images[$0]?.review == .approved }
        return isApproved ? nil : .imageNotApproved
    }
}

extension SimulatedEnvironment {
    /// The state of what has just been uploaded: the sandbox approves by itself.
    var reviewAfterUpload: RetentionContent.Review { self == .sandbox ? .approved : .pending }
}
