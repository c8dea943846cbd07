import Subscriptions
import Testing

@Suite struct `The host of a run` {
    private func host(of actor: String) -> String {
        RunHeader(
            runID: "r", job: "nightly", mode: .apply, started: Timestamp(unixMilliseconds: 0),
            apps: [], actor: actor, toolVersion: "1.0", settingsDigest: "", filters: [],
            notFoundConfirmations: 3
        ).host
    }

    @Test func `is what stands behind the user, without what the run says of itself`() {
        #expect(host(of: "ops@vm") == "vm")
        #expect(
            host(of: "ops@vm (rehearsal: trusts a root @ 127.0.0.1, not Apple's root)") == "vm")
        #expect(host(of: "a@b@vm") == "vm")
        #expect(host(of: "nobody") == "nobody")
    }
}
