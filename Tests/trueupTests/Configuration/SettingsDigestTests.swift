import Subscriptions
import Testing
import trueup

@Suite struct `The settings digest` {
    private func digest(
        _ yaml: String = SettingsText.production, job: String = "", mode: RunMode = .apply,
        narrowing: [String] = []
    ) throws -> String {
        SettingsDigest.of(
            try SettingsText.settings(yaml), try JobSettings(yaml: job, file: "nightly.yaml"),
            mode: mode, narrowing: narrowing)
    }

    @Test func `is the same for settings that mean the same`() throws {
        let digest = try digest()
        #expect(digest.count == 64)
        #expect(try self.digest(SettingsText.production(with: "quota_share: 0.50")) == digest)
        #expect(try self.digest(job: "settle: 900s\n# a comment\n") == digest)
    }

    @Test func `lets a pass go on at another speed, for longer, with another key`() throws {
        let digest = try digest()
        #expect(try self.digest(SettingsText.production(with: "quota_share: 0.4")) == digest)
        #expect(
            try self.digest(SettingsText.production(replacing: "key.p8", by: "other.p8"))
                == digest)
        #expect(try self.digest(job: "max_duration: 9h") == digest)
        #expect(try self.digest(job: "max_outage: 9m") == digest)
    }

    @Test func `changes with whatever changes a run`() throws {
        let digests = [
            try digest(), try digest(SettingsText.loopback), try digest(job: "settle: 1m"),
            try digest(job: "guards: {max_changes: 1}"),
            try digest(job: "authority: {status: report-only}"), try digest(mode: .check),
            try digest(narrowing: ["limit 100"]),
        ]
        #expect(Set(digests).count == digests.count)
    }
}
