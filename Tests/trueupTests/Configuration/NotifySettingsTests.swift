import Foundation
import Subscriptions
import Testing
import trueup

@Suite struct `The section tell` {
    private static let webhook = "url: https://billing.example.com/hooks/T0K3N?x=1"
    private static let secret = "secret_env: TELL_SECRET"

    /// Settings with these lines under `tell`.
    private static func yaml(
        _ lines: String..., base: String = SettingsText.production
    ) -> String {
        base + "\ntell:\n" + lines.map { "  \($0)\n" }.joined()
    }

    private func tell(_ yaml: String) throws -> NotifySettings {
        try #require(try SettingsText.settings(yaml).notify)
    }

    @Test func `is absent unless it is written: nobody is told`() throws {
        #expect(try SettingsText.settings(SettingsText.production).notify == nil)
    }

    @Test func `takes a webhook with its secret`() throws {
        let tell = try tell(Self.yaml(Self.webhook, "secret_file: keys/tell"))
        let url = try #require(tell.url)
        #expect("\(url)" == "https://billing.example.com")
        #expect(!url.isLoopback)
        #expect(tell.secret == .file("conf/keys/tell"))
        #expect(tell.timeoutMilliseconds == 10_000)
        #expect(tell.events == BillingEvent.deliveredByDefault)
        #expect(!tell.events.contains(.firstFill))
    }

    @Test func `takes a command, whose path starts at the settings`() throws {
        let tell = try tell(
            Self.yaml("command: [bin/on-correction, --flag, 'a b']", "timeout: 3s"))
        #expect(tell.url == nil)
        #expect(tell.command == ["conf/bin/on-correction", "--flag", "a b"])
        #expect(tell.timeoutMilliseconds == 3000)
    }

    @Test func `may choose which events are told`() throws {
        let tell = try tell(Self.yaml("command: [/bin/x]", "events: [refund, first_fill]"))
        #expect(tell.events == [.refund, .firstFill])
    }

    @Test func `takes plain http, and a root of its own, on this machine only`() throws {
        let tell = try tell(
            Self.yaml(
                "url: http://127.0.0.1:8080/hook", Self.secret, base: SettingsText.loopback))
        #expect(tell.caFile == nil)
        let tls = try self.tell(
            Self.yaml(
                "url: https://localhost:8443/hook", Self.secret, "ca_file: root.pem",
                base: SettingsText.loopback))
        #expect(tls.caFile == "conf/root.pem")
    }

    static let mistakes = [
        SettingsMistake(yaml("urll: x"), line: 9, key: "tell.urll", says: "did you mean \"url\"?"),
        SettingsMistake(yaml("timeout: 5s"), line: 9, key: "tell.url", says: "is missing"),
        SettingsMistake(
            yaml(webhook, secret, "command: [/bin/x]"), line: 11, key: "tell.command",
            says: "cannot be used together with url"),
        SettingsMistake(yaml(webhook), line: 9, key: "tell.secret_env", says: "is missing"),
        SettingsMistake(
            yaml(webhook, secret, "secret_file: x"), line: 10, key: "tell.secret_env",
            says: "cannot be used together with secret_file"),
        SettingsMistake(
            yaml("url: http://billing.example.com/x", secret), line: 9, key: "tell.url",
            says: "is not https"),
        SettingsMistake(
            yaml("url: https://user:pw@billing.example.com/x", secret), line: 9, key: "tell.url",
            says: "without a user name"),
        SettingsMistake(
            yaml("url: https://billing.example.com/x#y", secret), line: 9, key: "tell.url",
            says: "fragment"),
        SettingsMistake(
            yaml("url: ftp://billing.example.com", secret), line: 9, key: "tell.url",
            says: "must be https"),
        SettingsMistake(
            yaml(webhook, "secret_env: my secret"), line: 10, key: "tell.secret_env",
            says: "name of an environment variable"),
        SettingsMistake(
            yaml(webhook, secret, "ca_file: x"), line: 11, key: "tell.ca_file",
            says: "loopback address only"),
        SettingsMistake(
            yaml(webhook, secret, base: SettingsText.loopback), line: 9, key: "tell.url",
            says: "rehearsal"),
        SettingsMistake(
            yaml("command: on-correction"), line: 9, key: "tell.command", says: "must be a list"),
        SettingsMistake(
            yaml("command: [on-correction]"), line: 9, key: "tell.command",
            says: "must begin with a path"),
        SettingsMistake(
            yaml("command: [/bin/x]", secret), line: 10, key: "tell.secret_env",
            says: "together with command"),
        SettingsMistake(
            yaml("command: [/bin/x]", "timeout: 31s"), line: 10, key: "tell.timeout",
            says: "at most 30s"),
        SettingsMistake(
            yaml("command: [/bin/x]", "timeout: 10"), line: 10, key: "tell.timeout",
            says: "not a duration"),
        SettingsMistake(
            yaml("command: [/bin/x]", "events: [refunds]"), line: 10, key: "tell.events[0]",
            says: "did you mean \"refund\"?"),
        SettingsMistake(
            yaml("command: [/bin/x]", "events: [refund, refund]"), line: 10,
            key: "tell.events[1]", says: "is listed twice"),
    ]

    @Test(arguments: mistakes)
    func `is refused with line, key and what to write instead`(mistake: SettingsMistake) {
        let error = SettingsText.error(of: mistake.yaml)
        #expect(error?.status == .config)
        #expect(error?.line == mistake.line)
        #expect(error?.key == mistake.key)
        for text in mistake.says { #expect(error?.description.contains(text) == true) }
        // Passwords, tokens and secrets in the wrong place are not repeated.
        for text in ["user:pw", "T0K3N", "my secret"] {
            #expect(error?.description.contains(text) != true)
        }
    }

    @Test func `may be called notify instead, and does not stand beside itself`() throws {
        let notify = "\nnotify:\n  command: [/bin/x]\n"
        #expect(try tell(SettingsText.production + notify).command == ["/bin/x"])
        let mistaken = SettingsText.error(
            of: SettingsText.production + "\nnotify:\n  command: x\n")
        #expect(mistaken?.key == "notify.command")
        let both = SettingsText.error(of: Self.yaml("command: [/bin/x]") + notify)
        #expect(both?.status == .config)
        #expect(both?.key == "notify")
        #expect(both?.problem == "is another name of tell, which is here as well")
        #expect(both?.suggestion == "keep one of them")
    }

    @Test func `does not make a stopped pass begin again`() throws {
        let job = try JobSettings(yaml: "{}", file: "nightly.yaml")
        let digests = try [SettingsText.production, Self.yaml(Self.webhook, Self.secret)].map {
            SettingsDigest.of(try SettingsText.settings($0), job, mode: .apply)
        }
        #expect(digests[0] == digests[1])
    }
}

@Suite struct `trueup tell` {
    private let workplace: Workplace

    init() throws { workplace = try Workplace() }

    private func settings(_ lines: String) throws {
        _ = try workplace.folder.write(
            SettingsText.loopback + "\ntell:\n" + lines + "\n", to: "trueup.yaml", mode: 0o644)
    }

    @Test func `needs somebody to tell`() async throws {
        _ = try await workplace.initialised()
        let outcome = await workplace.run("tell")
        #expect(outcome.status == .config)
        #expect(
            outcome.diagnostics.contains("tell: is missing: no receiver of events is configured"))
    }

    @Test func `says so when there is nothing to tell`() async throws {
        try settings("  command: [/bin/true]")
        _ = try await workplace.initialised()
        let outcome = await workplace.run("tell")
        #expect(outcome.status == .ok, "\(outcome.diagnostics)")
        #expect(outcome.output == "No event is due.\n")
        #expect(await workplace.run("notify").output == outcome.output)
        #expect(await workplace.run("tell", "--quiet").output.isEmpty)
        #expect(
            await workplace.run("tell", "--json").output
                == #"{"failed":0,"gave_up":0,"outbox":{"erased":0,"given_up":0,"last_error":null,"#
                + #""next_attempt":null,"told":0,"waiting":0},"retried":0,"told":0}"# + "\n")
    }

    @Test func `refuses a secret that is missing, short, or open to others`() async throws {
        try settings("  url: http://127.0.0.1:9/x\n  secret_env: TELL_SECRET")
        _ = try await workplace.initialised()
        let missing = await workplace.run("tell")
        #expect(missing.status == .config)
        #expect(missing.diagnostics.contains("TELL_SECRET: is not set"))
        workplace.environment["TELL_SECRET"] = "sh0rt\n"
        let short = await workplace.run("tell")
        #expect(short.status == .config)
        #expect(short.diagnostics.contains("shorter than 16 bytes"))
        #expect(!short.diagnostics.contains("sh0rt"))

        try settings("  url: http://127.0.0.1:9/x\n  secret_file: secret")
        _ = try workplace.folder.write("0123456789abcdef\n", to: "secret", mode: 0o644)
        let open = await workplace.run("tell")
        #expect(open.status == .denied)
        #expect(open.diagnostics.contains("chmod 600"))
        _ = try workplace.folder.write("0123456789abcdef\n", to: "safe", mode: 0o600)
        try settings("  url: http://127.0.0.1:9/x\n  secret_file: safe")
        #expect(await workplace.run("tell").status == .ok)
    }

    @Test func `refuses a command that is not there or cannot be run`() async throws {
        try settings("  command: [bin/nothing]")
        _ = try await workplace.initialised()
        let missing = await workplace.run("tell")
        #expect(missing.status == .config)
        #expect(missing.diagnostics.contains("tell.command: does not exist"))
        _ = try workplace.folder.write("#!/bin/sh\n", to: "bin/nothing", mode: 0o644)
        let plain = await workplace.run("tell")
        #expect(plain.status == .config)
        #expect(plain.diagnostics.contains("chmod +x"))
    }
}
