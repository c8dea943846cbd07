import Subscriptions
import Testing
import trueup

@Suite struct `The settings digest` {
    private func digest(
        _ yaml: String = SettingsText.production, job: String = "{}", mode: RunMode = .apply,
        filters: [String] = []
    ) throws -> String {
        SettingsDigest.of(
            try SettingsText.settings(yaml), try JobSettings(yaml: job, file: "nightly.yaml"),
            mode: mode, filters: filters)
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

    @Test func `is the one of earlier versions, so that what they left unfinished goes on`() throws
    {
        let plain = try digest()
        #expect(plain == "e7ed477d25ff2aecc650a9c6354ccb449374ac19ff087ed98567bbfe762755af")
        let yaml =
            SettingsText.loopback(
                with: "trusted_roots: [apple, root.pem]\n    revocation: hard\n    app_apple_id: 7")
            + "\nstore: {url: \"sqlite:/var/x.sqlite\"}\n"
        let job = """
            steps: [walk]
            coverage: full
            history: never
            sweep_days: 30
            sample: 0.5
            settle: 90s
            fail_on: none
            not_found_confirmations: 4
            recover: {overlap: 1d, lookback: 2d, inbox: imported}
            guards: {max_own_fault: none, max_change_share: 1.0, max_excluded_share: 0.25}
            authority: {status: report-only}
            """
        let other = try digest(yaml, job: job, mode: .check, filters: ["limit 100"])
        #expect(other == "5d8024685b06eb2b9254a9152b2195a5be6994f94b49384f2045943dd8e10f04")
    }

    @Test func `changes with whatever changes a run`() throws {
        let digests = [
            try digest(), try digest(SettingsText.loopback), try digest(job: "settle: 1m"),
            try digest(job: "guards: {max_changes: 1}"),
            try digest(job: "authority: {status: report-only}"), try digest(mode: .check),
            try digest(filters: ["limit 100"]),
        ]
        #expect(Set(digests).count == digests.count)
    }
}
