import Foundation
import Subscriptions
import Testing
import trueup

@Suite struct `What the settings name and is not there` {
    let workplace: Workplace

    init() throws { workplace = try Workplace() }

    private func settings(with line: String) throws {
        _ = try workplace.folder.write(
            SettingsText.loopback(with: line) + "\n", to: "trueup.yaml", mode: 0o644)
    }

    @Test func `a file of TLS roots is missed by whatever reads the settings`() async throws {
        _ = await workplace.run("init")
        try settings(with: "ca_file: no.pem")
        for command in [["status"], ["estimate", "nightly"], ["run", "nightly"]] {
            let outcome = await workplace.run(command)
            #expect(outcome.status == .config, "\(command)")
            #expect(outcome.diagnostics.contains("apps[0].ca_file: "), "\(outcome.diagnostics)")
            #expect(outcome.diagnostics.contains("/no.pem cannot be read: No such file"))
        }
    }

    @Test func `the folder of the database is named with one status by all`() async throws {
        let folder = workplace.folder.path + "/absent"
        workplace.environment["TRUEUP_STORE_URL"] = "sqlite:" + folder + "/trueup.sqlite"
        _ = try workplace.folder.write(
            "original_transaction_id\n2000000000000001\n", to: "rows.csv")
        try settings(with: "requests_per_second: 5")
        for command in [["status"], ["import", workplace.folder.path + "/rows.csv"]] {
            let outcome = await workplace.run(command)
            #expect(outcome.status == .unavailable, "\(command)")
            #expect(
                outcome.diagnostics.contains("/absent of the database is not there"),
                "\(outcome.diagnostics)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test(arguments: [true, false])
    func `the database is named by the setting that says where it is`(isBeside: Bool) async throws {
        let own = """

              books: sqlite:books.sqlite
              subscriptions:
                table: subs
                columns: {original_transaction_id: otid, bundle_id: {constant: com.example.app}, \
            environment: {constant: sandbox}, status: state}
            """
        _ = try workplace.folder.write(
            SettingsText.loopback + "\nstore:\n  url: sqlite:shop.sqlite" + (isBeside ? own : "")
                + "\n", to: "trueup.yaml", mode: 0o644)
        let outcome = await workplace.run("status")
        #expect(outcome.status == .unavailable, "\(outcome.diagnostics)")
        let said = outcome.diagnostics
        #expect(said.contains("There is no database at"), "\(said)")
        #expect(said.contains("correct `store.books`") == isBeside, "\(said)")
        #expect(said.contains("correct `store.url`") != isBeside, "\(said)")
    }

    @Test func `a required key without a value is not to be left out`() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try SettingsText.settings(
                SettingsText.production(replacing: "key_id: 2X9R4HXF34", by: "key_id:"))
        }
        #expect(error?.suggestion == "write a text")
        let optional = #expect(throws: ConfigurationError.self) {
            try SettingsText.settings(SettingsText.production(with: "proxy:"))
        }
        #expect(optional?.suggestion == "write a URL or leave the key out")
    }
}
