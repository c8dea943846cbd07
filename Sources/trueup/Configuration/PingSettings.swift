/// The addresses by which a monitoring service learns that a run has begun and how it ended.
///
/// A service that hears nothing in time tells somebody: no run can do that for itself.
package struct PingSettings: Hashable, Sendable {
    package var start: WebhookURL?
    package var success: WebhookURL?
    package var failure: WebhookURL?

    package init() {}

    /// Without the addresses of other machines.
    var onThisMachine: PingSettings {
        var near = PingSettings()
        near.start = start.flatMap { $0.isLoopback ? $0 : nil }
        near.success = success.flatMap { $0.isLoopback ? $0 : nil }
        near.failure = failure.flatMap { $0.isLoopback ? $0 : nil }
        return near
    }
}
