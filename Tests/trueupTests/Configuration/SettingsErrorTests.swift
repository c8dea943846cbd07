import Subscriptions
import Testing
import trueup

/// One wrong settings file and what must be said about it.
struct SettingsMistake: Sendable, CustomTestStringConvertible {
    let yaml: String
    let line: Int?
    let key: String?
    /// What the problem and the suggestion must contain.
    let says: [String]

    init(_ yaml: String, line: Int?, key: String?, says: String...) {
        self.yaml = yaml
        self.line = line
        self.key = key
        self.says = says
    }

    var testDescription: String { says.joined(separator: " … ") }
}

@Suite struct `Errors in the settings file` {
    static let mistakes = [
        SettingsMistake("", line: 1, key: "apps", says: "is missing"),
        SettingsMistake("---\n", line: 1, key: "apps", says: "is missing"),
        SettingsMistake("apps: [}", line: 1, key: nil, says: "is not YAML"),
        SettingsMistake("text", line: 1, key: nil, says: "list of keys and values"),
        SettingsMistake("store: {}\n", line: 1, key: "apps", says: "is missing", "add \"apps"),
        SettingsMistake("apps: []\n", line: 1, key: "apps", says: "empty list"),
        SettingsMistake("apps: com.example\n", line: 1, key: "apps", says: "must be a list"),
        SettingsMistake(
            SettingsText.production + "\napp_store_connect:\n  vendor_number: 80/../1\n", line: 9,
            key: "app_store_connect.vendor_number", says: "must be a number of up to 20 digits"),
        SettingsMistake(
            SettingsText.production + "\napp_store_connect: {key_file: a, key_env: B}\n", line: 8,
            key: "app_store_connect.key_env", says: "together with key_file"),
        SettingsMistake(
            SettingsText.production + "\napp_store_connect: {ca_file: a.pem}\n", line: 8,
            key: "app_store_connect.ca_file", says: "loopback endpoint only"),
        SettingsMistake(
            SettingsText.production
                + "\napp_store_connect:\n  endpoint: https://api.storekit.apple.com\n", line: 9,
            key: "app_store_connect.endpoint", says: "neither App Store Connect's host"),
        SettingsMistake(
            SettingsText.production
                + "\napp_store_connect:\n  endpoint: http://api.appstoreconnect.apple.com\n",
            line: 9, key: "app_store_connect.endpoint", says: "must be https://host"),
        SettingsMistake(
            SettingsText.production + "\nstore: {max_load: {query: SELECT 1}}\n", line: 8,
            key: "store.max_load.limit", says: "is missing"),
        SettingsMistake(
            SettingsText.production + "\nstore: {max_load: {query: DELETE FROM a, limit: 1}}\n",
            line: 8, key: "store.max_load.query", says: "must begin with SELECT or SHOW"),
        SettingsMistake(
            SettingsText.production + "\nstroe:\n  url: sqlite:x\n", line: 8, key: "stroe",
            says: "unknown key", "did you mean \"store\"?"),
        SettingsMistake(
            SettingsText.production(with: "bundel_id: x"), line: 8, key: "apps[0].bundel_id",
            says: "unknown key", "did you mean \"bundle_id\"?"),
        SettingsMistake(
            SettingsText.production(with: "colour: red"), line: 8, key: "apps[0].colour",
            says: "unknown key", "known here: bundle_id"),
        SettingsMistake(
            SettingsText.production(with: "key_id: OTHER"), line: 8, key: "key_id",
            says: "is listed twice (first in line 6)", "keep one"),
        SettingsMistake(
            SettingsText.production(replacing: "key_id: 2X9R4HXF34", by: "key_id:"), line: 6,
            key: "apps[0].key_id", says: "has no value", "write a text"),
        SettingsMistake(
            SettingsText.production(replacing: "key_id: 2X9R4HXF34", by: "key_id: [1]"), line: 6,
            key: "apps[0].key_id", says: "not a list"),
        SettingsMistake(
            SettingsText.production(replacing: "key_id: 2X9R4HXF34", by: "key_id: {a: 1}"),
            line: 6, key: "apps[0].key_id", says: "not keys and values"),
        SettingsMistake(
            SettingsText.production(replacing: "key_id: 2X9R4HXF34", by: "key_id: a b"), line: 6,
            key: "apps[0].key_id", says: "one word"),
        SettingsMistake(
            SettingsText.production(replacing: "app_apple_id: 1234567890\n    ", by: ""), line: 2,
            key: "apps[0].app_apple_id", says: "required for production"),
        SettingsMistake(
            SettingsText.production(replacing: "1234567890", by: "12e9"), line: 3,
            key: "apps[0].app_apple_id", says: "whole number"),
        SettingsMistake(
            SettingsText.production(replacing: "issuer_id", by: "issuer"), line: 5,
            key: "apps[0].issuer", says: "unknown key", "did you mean \"issuer_id\"?"),
        SettingsMistake(
            SettingsText.production(
                replacing: "issuer_id: 57246542-96fe-1a63-e053-0824d011072a\n    ", by: ""),
            line: 2, key: "apps[0].issuer_id", says: "is missing", "add \"issuer_id:"),
        SettingsMistake(
            SettingsText.production(replacing: ": production", by: ": Production"), line: 4,
            key: "apps[0].environment", says: "did you mean \"production\"?"),
        SettingsMistake(
            SettingsText.production(replacing: ": production", by: ": LocalTesting"), line: 4,
            key: "apps[0].environment", says: "what it signs cannot be verified"),
        SettingsMistake(
            SettingsText.production(replacing: ": production", by: ": Xcode"), line: 4,
            key: "apps[0].environment", says: "what it signs cannot be verified"),
        SettingsMistake(
            SettingsText.production(replacing: "    key_file: keys/key.p8", by: ""), line: 2,
            key: "apps[0].key_file", says: "is missing", "key_env"),
        SettingsMistake(
            SettingsText.production(with: "key_env: KEY"), line: 8, key: "apps[0].key_env",
            says: "together with key_file", "exactly one"),
        SettingsMistake(
            SettingsText.production(with: "quota_share: 0"), line: 8, key: "apps[0].quota_share",
            says: "more than 0"),
        SettingsMistake(
            SettingsText.production(with: "quota_share: 50"), line: 8,
            key: "apps[0].quota_share", says: "from 0 to 1", "did you mean 0.5?"),
        SettingsMistake(
            SettingsText.production(with: "quota_share: 50%"), line: 8,
            key: "apps[0].quota_share", says: "from 0 to 1", "did you mean 0.5?"),
        SettingsMistake(
            SettingsText.production(with: "quota_share: \"0.5\""), line: 8,
            key: "apps[0].quota_share", says: "not a text", "without quotes"),
        SettingsMistake(
            SettingsText.production(with: "requests_per_second: 51"), line: 8,
            key: "apps[0].requests_per_second", says: "above Apple's limit of 50"),
        SettingsMistake(
            SettingsText.production(with: "endpoint: https://example.com"), line: 8,
            key: "apps[0].endpoint", says: "neither Apple's host nor a loopback"),
        SettingsMistake(
            SettingsText.production(with: "endpoint: http://api.storekit.apple.com"), line: 8,
            key: "apps[0].endpoint", says: "must be https://"),
        SettingsMistake(
            SettingsText.production(with: "endpoint: https://api.storekit-sandbox.apple.com"),
            line: 8, key: "apps[0].endpoint", says: "does not serve this app's environment"),
        SettingsMistake(
            SettingsText.production(with: "endpoint: https://127.0.0.1.example.com"), line: 8,
            key: "apps[0].endpoint", says: "neither Apple's host nor a loopback"),
        SettingsMistake(
            SettingsText.production(with: "ca_file: ca.pem"), line: 8, key: "apps[0].ca_file",
            says: "loopback endpoint only"),
        SettingsMistake(
            SettingsText.production(with: "trusted_roots: [apple, my.pem]"), line: 8,
            key: "apps[0].trusted_roots[1]", says: "loopback endpoint only"),
        SettingsMistake(
            SettingsText.production(with: "trusted_roots: []"), line: 8,
            key: "apps[0].trusted_roots", says: "empty list"),
        SettingsMistake(
            SettingsText.production(with: "proxy: http://user:pass@proxy:3128"), line: 8,
            key: "apps[0].proxy", says: "without a user name or password"),
        SettingsMistake(
            SettingsText.production(with: "revocation: on"), line: 8,
            key: "apps[0].revocation", says: "must be one of off, soft, hard"),
        SettingsMistake(
            SettingsText.production + "\nstore:\n  url: postgres://me:secret@db/x\n", line: 9,
            key: "store.url", says: "must not hold a password", "PGPASSFILE"),
        SettingsMistake(
            SettingsText.production + "\nstore:\n  url: trueup.sqlite\n", line: 9,
            key: "store.url", says: "must begin with sqlite:"),
        SettingsMistake(
            SettingsText.production + "\nstore:\n  url: \"sqlite::memory:\"\n", line: 9,
            key: "store.url", says: "must name a file"),
        SettingsMistake(
            SettingsText.production + "\nreport:\n  folder: x\n", line: 9, key: "report.folder",
            says: "unknown key", "directory"),
        SettingsMistake(
            SettingsText.production + "\n"
                + SettingsText.production.split(separator: "\n").dropFirst().joined(
                    separator: "\n"),
            line: 8, key: "apps[1]", says: "configured twice"),
    ]

    @Test(arguments: mistakes)
    func `name file, line, key and what to write instead`(mistake: SettingsMistake) throws {
        let error = try #require(SettingsText.error(of: mistake.yaml), "it was accepted")
        #expect(error.file == "conf/trueup.yaml")
        #expect(error.line == mistake.line)
        #expect(error.key == mistake.key)
        for text in mistake.says { #expect(error.description.contains(text), "\(error)") }
        #expect(error.status == .config)
    }

    @Test func `never repeat what may be a secret`() throws {
        for yaml in [
            SettingsText.production(with: "proxy: http://user:s3cret@proxy"),
            SettingsText.production + "\nstore:\n  url: postgres://me:s3cret@db/x\n",
            SettingsText.loopback.replacing("APP_KEY", with: "-----BEGIN s3cret"),
        ] {
            let error = try #require(SettingsText.error(of: yaml))
            #expect(!error.description.contains("s3cret"))
        }
    }
}
