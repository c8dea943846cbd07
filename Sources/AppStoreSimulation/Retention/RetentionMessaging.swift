import Foundation
import Synchronization

/// What the app has set up by the Retention Messaging API, in each environment.
final class RetentionMessaging: Sendable {
    struct State: Sendable {
        var content: [SimulatedEnvironment: RetentionContent] = [:]
        /// A passed test in the sandbox is required before the production URL is configured.
        var hasPassedTest = false
        /// Where requests are sent instead of to the configured URLs.
        var address: URL?
    }

    private let state = Mutex(State())

    /// Reads or changes the state; a failure leaves what was changed before it.
    func withState<Value: Sendable>(
        _ body: (inout State) throws(APIFailure) -> Value
    ) throws(APIFailure) -> Value {
        let result = state.withLock { state -> Result<Value, APIFailure> in
            do throws(APIFailure) {
                return .success(try body(&state))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Reads or changes what belongs to one environment.
    func withContent<Value: Sendable>(
        of environment: SimulatedEnvironment,
        _ body: (inout RetentionContent) throws(APIFailure) -> Value
    ) throws(APIFailure) -> Value {
        try withState { state throws(APIFailure) in
            var content = state.content[environment] ?? RetentionContent()
            defer { state.content[environment] = content }
            return try body(&content)
        }
    }

    /// What belongs to one environment at this moment.
    func content(of environment: SimulatedEnvironment) -> RetentionContent {
        state.withLock { $0.content[environment] ?? RetentionContent() }
    }

    /// Where requests are sent instead of to the configured URLs; `nil`: to those.
    var address: URL? {
        get { state.withLock { $0.address } }
        set { state.withLock { $0.address = newValue } }
    }

    func reset() {
        state.withLock { $0 = State() }
    }
}

/// Images, messages, defaults and the real-time URL of one environment.
struct RetentionContent: Sendable {
    /// Source: Retention Messaging API, Upload Image and Upload Message.
    static let highestCount = 2000

    /// Apple's `imageState` and `messageState`.
    enum Review: String, Sendable, CaseIterable {
        case pending = "PENDING"
        case approved = "APPROVED"
        case rejected = "REJECTED"
    }

    struct Image: Sendable {
        let id: String
        let size: ImageSize
        var review: Review
    }

    struct Message: Sendable {
        let id: String
        let text: RetentionMessageText
        var review: Review
    }

    /// What a default message is configured for.
    struct DefaultPlace: Hashable, Sendable {
        let product: UInt16
        let locale: String
    }

    /// In the order of their upload.
    var images: [Image] = []
    /// In the order of their upload.
    var messages: [Message] = []
    /// Identifiers of messages.
    var defaults: [DefaultPlace: String] = [:]
    var realtimeURL: String?
    var test: PerformanceTest?

    func image(_ id: String) -> Image? { images.first { $0.id == id } }
    func message(_ id: String) -> Message? { messages.first { $0.id == id } }

    /// Why a message cannot be shown; `nil` if it can.
    func objection(toShowing id: String) -> APIFailure? {
        guard let message = message(id) else { return .messageNotFound }
        guard message.review == .approved else { return .messageNotApproved }
        let isApproved = message.text.imageIDs.allSatisfy { image($0)?.review == .approved }
        return isApproved ? nil : .imageNotApproved
    }
}

extension SimulatedEnvironment {
    /// The state of what has just been uploaded: the sandbox approves by itself.
    var reviewAfterUpload: RetentionContent.Review { self == .sandbox ? .approved : .pending }
}

/// Apple's `imageSize`.
enum ImageSize: String, Sendable, CaseIterable {
    case full = "FULL_SIZE"
    case bulletPoint = "BULLET_POINT"
}
