import Subscriptions
import Testing
import trueup

@Suite struct `The settings` {
    @Test func `take the contract's defaults for what is left out`() throws {
        let settings = try SettingsText.settings(SettingsText.production)
        let app = try #require(settings.apps.first)
        #expect(
            app.identity == AppIdentity(bundleID: "com.example.app", environment: .production))
        #expect(app.appAppleID == 1_234_567_890)
        #expect(app.quotaShare == 0.5)
        #expect(app.requestsPerSecond == nil)
        #expect(app.endpoint.url == "https://api.storekit.apple.com")
        #expect(!app.endpoint.isLoopback)
        #expect(app.trustedRoots == [.apple])
        #expect(app.caFile == nil)
        #expect(app.proxy == nil)
        #expect(app.revocation == .off)
        #expect(settings.databasePath == "conf/trueup.sqlite")
        #expect(settings.reportDirectory == "conf/reports")
    }

    @Test func `keep ids written without quotes as the text that stands there`() throws {
        let yaml = SettingsText.loopback
            .replacing("com.example.app", with: "0x1F")
        let app = try #require(try SettingsText.settings(yaml).apps.first)
        #expect(app.keyID == "0123")
        #expect(app.identity.bundleID == "0x1F")
    }

    @Test func `start relative paths at the settings file and leave absolute ones`() throws {
        let yaml =
            SettingsText.loopback(with: "ca_file: ./tls/ca.pem\n    trusted_roots: [apple, /r.pem]")
            + "\nstore:\n  url: sqlite:/var/db.sqlite\nreport:\n  directory: out\n"
        let settings = try SettingsText.settings(yaml)
        #expect(settings.apps.first?.caFile == "conf/tls/ca.pem")
        #expect(settings.apps.first?.trustedRoots == [.apple, .file("/r.pem")])
        #expect(settings.databasePath == "/var/db.sqlite")
        #expect(settings.reportDirectory == "conf/out")
        let file = try #require(try SettingsText.settings(SettingsText.production).apps.first)
        #expect(file.keySource == .file("conf/keys/key.p8"))
    }

    @Test(arguments: [
        ("sqlite:a.sqlite", "conf/a.sqlite"), ("sqlite:///a/b", "/a/b"), ("sqlite:/a/b", "/a/b"),
        ("sqlite:../x.db", "conf/../x.db"),
    ])
    func `understand the spellings of a SQLite path`(url: String, path: String) throws {
        let settings = try SettingsText.settings(
            SettingsText.production + "\nstore:\n  url: \(url)\n")
        #expect(settings.databasePath == path)
    }

    @Test func `let the environment win over the file, and the file over the default`() throws {
        let yaml =
            SettingsText.production + "\nstore:\n  url: sqlite:f.db\nreport:\n  directory: f\n"
        let file = try SettingsText.settings(yaml)
        #expect(file.databasePath == "conf/f.db")
        #expect(file.reportDirectory == "conf/f")
        let environment = ["TRUEUP_STORE_URL": "sqlite:e.db", "TRUEUP_REPORT_DIRECTORY": "/e"]
        let both = try SettingsText.settings(yaml, environment: environment)
        #expect(both.databasePath == "conf/e.db")
        #expect(both.reportDirectory == "/e")
    }

    @Test func `name the variable when its value is wrong`() throws {
        let error = try #require(
            SettingsText.error(
                of: SettingsText.production, environment: ["TRUEUP_STORE_URL": "mysql://x"]))
        #expect(error.file == "environment")
        #expect(error.key == "TRUEUP_STORE_URL")
    }

    @Test func `find the file by flag, then environment, then default`() {
        let environment = ["TRUEUP_CONFIG": "e.yaml"]
        #expect(Settings.file(flag: "f.yaml", environment: environment) == "f.yaml")
        #expect(Settings.file(flag: nil, environment: environment) == "e.yaml")
        #expect(Settings.file(flag: nil, environment: [:]) == "trueup.yaml")
    }

    @Test(arguments: [
        "https://127.0.0.1", "https://127.255.3.4:1", "https://localhost:8443/",
        "https://LOCALHOST", "https://[::1]:8443", "http://127.0.0.1:8080",
    ])
    func `take any spelling of this machine for a loopback endpoint`(url: String) throws {
        let yaml = SettingsText.loopback.replacing("https://127.0.0.1:8443", with: "\"\(url)\"")
        #expect(try SettingsText.settings(yaml).apps.first?.endpoint.isLoopback == true)
    }

    @Test(arguments: [
        "https://127.1", "https://127.0.0.1.example.com", "https://localhost.example.com",
        "https://127.0.0.256", "https://127.0.0.01", "https://user@127.0.0.1",
        "https://127.0.0.1@example.com", "https://127.0.0.1:0", "https://127.0.0.1:65536",
        "https://127.0.0.1/path", "https://[::2]", "https://[::ffff:127.0.0.1]", "ftp://127.0.0.1",
        "https://0x7f.0.0.1", "https://localhost.", "127.0.0.1", "https://",
        "https://example.com#127.0.0.1", "https://example.com\\\\127.0.0.1",
    ])
    func `take nothing else for one`(url: String) {
        let yaml = SettingsText.loopback.replacing("https://127.0.0.1:8443", with: "\"\(url)\"")
        #expect(SettingsText.error(of: yaml)?.key == "apps[0].endpoint")
    }

    @Test func `allow every rate, root and authority on loopback`() throws {
        let yaml = SettingsText.loopback(
            with: "requests_per_second: 2000\n    ca_file: ca.pem\n    trusted_roots: [root.der]")
        let app = try #require(try SettingsText.settings(yaml).apps.first)
        #expect(app.requestsPerSecond == 2000)
        #expect(app.caFile == "conf/ca.pem")
        #expect(app.trustedRoots == [.file("conf/root.der")])
    }

    @Test func `hold a sandbox app to a tenth of the limits`() {
        let yaml = SettingsText.loopback.replacing(
            "endpoint: https://127.0.0.1:8443", with: "requests_per_second: 6")
        #expect(SettingsText.error(of: yaml)?.problem.contains("limit of 5") == true)
    }

    @Test func `accept the same bundle in both environments`() throws {
        let yaml =
            SettingsText.production + "\n"
            + SettingsText.loopback.split(separator: "\n").dropFirst().joined(separator: "\n")
        #expect(try SettingsText.settings(yaml).identities.count == 2)
    }
}
