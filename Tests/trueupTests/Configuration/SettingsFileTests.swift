import Foundation
import Subscriptions
import Testing
import trueup

@Suite struct `A settings file on disk` {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func refusal(_ file: String) -> ConfigurationError? {
        do throws(ConfigurationError) {
            _ = try Settings.load(flag: file, environment: [:])
            return nil
        } catch {
            return error
        }
    }

    @Test func `is read`() throws {
        let file = try folder.write(SettingsText.production, to: "trueup.yaml", mode: 0o644)
        let settings = try Settings.load(flag: file, environment: [:])
        #expect(settings.file == file)
        #expect(settings.databasePath == folder.path + "/trueup.sqlite")
    }

    @Test func `that is not there sends to init`() {
        let error = refusal(folder.path + "/none.yaml")
        #expect(error?.problem == "does not exist")
        #expect(error?.suggestion?.contains("trueup init") == true)
    }

    @Test(arguments: [0o666, 0o602, 0o777])
    func `that everybody may write is refused with the fix`(mode: Int) throws {
        let file = try folder.write(SettingsText.production, to: "trueup.yaml", mode: mode)
        let error = refusal(file)
        #expect(error?.status == .config)
        #expect(error?.suggestion == "run: chmod o-w \(file)")
    }

    @Test func `that is a folder, too large or no text is refused`() throws {
        #expect(refusal(folder.path)?.problem.contains("folder") == true)
        let large = try folder.write(
            String(repeating: "# comment\n", count: 120_000), to: "large.yaml")
        #expect(refusal(large)?.problem.contains("larger than") == true)
        let binary = folder.path + "/binary.yaml"
        try Data([0x61, 0xFF, 0x0A]).write(to: URL(fileURLWithPath: binary))
        #expect(refusal(binary)?.problem.contains("UTF-8") == true)
    }

    @Test func `gives its jobs by name from the folder beside it, or by path`() throws {
        let file = try folder.write(SettingsText.production, to: "trueup.yaml")
        let path = try folder.write("mode: check\n", to: "jobs/audit.yaml")
        let other = try folder.write("sweep_days: 2\n", to: "elsewhere/mine.yml")
        let settings = try Settings.load(flag: file, environment: [:])
        #expect(try JobSettings.load("audit", beside: settings).mode == .check)
        #expect(try JobSettings.load("audit", beside: settings).name == "audit")
        #expect(try JobSettings.load(path, beside: settings).name == "audit")
        #expect(try JobSettings.load(other, beside: settings).sweepDays == 2)
        #expect(try JobSettings.load(other, beside: settings).name == "mine")
    }

    @Test func `names the jobs that there are when one is misspelt`() throws {
        let file = try folder.write(SettingsText.production, to: "trueup.yaml")
        let settings = try Settings.load(flag: file, environment: [:])
        let suggestion = { (job: String) -> String? in
            do throws(ConfigurationError) {
                _ = try JobSettings.load(job, beside: settings)
                return nil
            } catch {
                return error.suggestion
            }
        }
        #expect(suggestion("nigthly")?.contains("trueup init") == true)
        _ = try folder.write("", to: "jobs/nightly.yaml")
        _ = try folder.write("", to: "jobs/audit.yaml")
        #expect(suggestion("nigthly") == "did you mean \"nightly\"?")
        #expect(suggestion("weekly-sums") == "jobs there: audit, nightly")
    }
}
