import Foundation
import Subscriptions
import Testing
import trueup

@Suite struct `The private key file` {
    static let pem = """
        -----BEGIN PRIVATE KEY-----
        c2VjcmV0
        -----END PRIVATE KEY-----

        """

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func app(_ line: String) throws -> AppSettings {
        let yaml = SettingsText.loopback.replacing("key_env: APP_KEY", with: line)
        return try #require(try SettingsText.settings(yaml).apps.first)
    }

    private func refusal(
        _ line: String, environment: [String: String] = [:]
    ) throws -> ConfigurationError? {
        let app = try app(line)
        do throws(ConfigurationError) {
            _ = try app.keySource.privateKey(environment)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [0o600, 0o400])
    func `is read when it is for its owner alone`(mode: Int) throws {
        let file = try folder.write(Self.pem, to: "key.p8", mode: mode)
        let secret = try app("key_file: \(file)").keySource.privateKey([:])
        #expect(secret.reveal() == Self.pem)
    }

    @Test(arguments: [0o644, 0o604, 0o444, 0o660, 0o700, 0o620, 0o4600])
    func `is refused with 77 and the fix when its mode is any other`(mode: Int) throws {
        let file = try folder.write(Self.pem, to: "key.p8", mode: mode)
        let error = try refusal("key_file: \(file)")
        #expect(error?.status == .denied)
        #expect(error?.suggestion?.hasPrefix("run: chmod 600 \(file);") == true)
        #expect(error?.suggestion?.contains("key_env") == true)
    }

    /// Kubernetes: `key.p8 -> ..data/key.p8`, `..data -> ..2026_11_22`, mode 0440 with `fsGroup`.
    @Test func `is read as Kubernetes mounts it, by links and for a group of the process`() throws {
        _ = try folder.write(Self.pem, to: "..2026_11_22/key.p8", mode: 0o440)
        let link = folder.path + "/key.p8"
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/..data", withDestinationPath: "..2026_11_22")
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: "..data/key.p8")
        let secret = try app("key_file: \(link)").keySource.privateKey([:])
        #expect(secret.reveal() == Self.pem)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o444], ofItemAtPath: folder.path + "/..2026_11_22/key.p8")
        #expect(try refusal("key_file: \(link)")?.status == .denied)
    }

    @Test func `is read from the folder of a unit's credentials`() throws {
        _ = try folder.write(Self.pem, to: "app-store-key", mode: 0o400)
        let line = "key_file: $CREDENTIALS_DIRECTORY/app-store-key"
        let secret = try app(line).keySource.privateKey(["CREDENTIALS_DIRECTORY": folder.path])
        #expect(secret.reveal() == Self.pem)
        let byHand = try refusal(line)
        #expect(byHand?.status == .config)
        #expect(byHand?.description.contains("LoadCredential=app-store-key:") == true)
        let other = try refusal(line, environment: ["CREDENTIALS_DIRECTORY": "/nowhere"])
        #expect(other?.file == "/nowhere/app-store-key")
        #expect(other?.problem == "does not exist")
    }

    @Test func `is refused when it is a folder, a device, or no plain private key`() throws {
        #expect(try refusal("key_file: /dev/null")?.problem == "is not a regular file")
        #expect(try refusal("key_file: \(folder.path)")?.status == .denied)
        for (text, says) in [
            ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nx\n", "passphrase"),
            ("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", "passphrase"),
            ("-----BEGIN PUBLIC KEY-----\nx\n", "public key"),
            ("-----BEGIN CERTIFICATE-----\nx\n", "certificate"),
            ("", "not a PEM private key"), ("hello", "not a PEM private key"),
            (String(repeating: "x", count: 20_000), "too large"),
        ] {
            let other = try folder.write(text, to: "other.p8")
            let error = try refusal("key_file: \(other)")
            #expect(error?.status == .denied)
            #expect(error?.problem.contains(says) == true, "\(String(describing: error))")
        }
    }

    @Test func `that is not there is a matter of settings`() throws {
        let error = try refusal("key_file: \(folder.path)/none.p8")
        #expect(error?.status == .config)
        #expect(error?.problem == "does not exist")
    }

    @Test func `may be the contents of a variable instead`() throws {
        let app = try app("key_env: APP_KEY")
        let secret = try app.keySource.privateKey(["APP_KEY": Self.pem])
        #expect(secret.reveal() == Self.pem)
        let absent = try refusal("key_env: APP_KEY")
        #expect(absent?.status == .config)
        #expect(absent?.key == "APP_KEY")
    }

    @Test func `never shows in a text, a dump or an error`() throws {
        let secret = Secret("c2VjcmV0")
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), String(describing: [secret]), dumped]
        {
            #expect(!text.contains("c2VjcmV0"))
        }
        let file = try folder.write("c2VjcmV0", to: "key.p8")
        #expect(try refusal("key_file: \(file)")?.description.contains("c2VjcmV0") == false)
    }
}
