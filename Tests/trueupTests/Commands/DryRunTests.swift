import Foundation
import Subscriptions
import Testing
import trueup

/// `--dry-run` of the commands that write.
@Suite struct `A dry run` {
    /// Every file below the folder but those that SQLite keeps while a database is open.
    private func files(_ place: Workplace) throws -> [String: Data] {
        var files: [String: Data] = [:]
        let names = try FileManager.default.subpathsOfDirectory(atPath: place.folder.path)
        for name in names where !name.hasSuffix("-wal") && !name.hasSuffix("-shm") {
            files[name] = FileManager.default.contents(atPath: place.folder.path + "/" + name)
        }
        return files
    }

    @Test(arguments: [
        ["run", "nightly"], ["check", "nightly"], ["undo", "latest"], ["erase", "customer-1"],
        ["acknowledge", "3f9a1c", "--reason", "known"], ["restored", "--reason", "a backup"],
        ["tell"], ["pause", "nightly"], ["resume", "nightly"], ["throttle", "nightly", "off"],
        ["init"], ["apply", "no-such-plan"], ["report", "latest", "--output", "again"],
    ])
    func `writes nothing, whatever the command`(arguments: [String]) async throws {
        let place = try await Workplace().initialised()
        let before = try files(place)
        _ = await place.run(arguments + ["--dry-run"])
        #expect(try files(place) == before)
    }

    @Test func `of init names what is there and what would be made`() async throws {
        let place = try Workplace()
        let first = await place.run("init", "--dry-run")
        #expect(first.status == .ok, "\(first.diagnostics)")
        #expect(first.output.contains("would be created: \(place.settings)"))
        #expect(try files(place).isEmpty)
        _ = try await place.initialised()
        let second = await place.run("init", "--dry-run", "--json")
        #expect(second.output.hasPrefix(#"{"created":[],"dry_run":true,"kept":["#))
    }

    @Test func `of init is refused where nothing could be written`() async throws {
        let place = try Workplace()
        _ = try place.folder.write("a file", to: "jobs")
        #expect(await place.run("init", "--dry-run").status == .cannotCreate)
    }

    /// The key is looked for, as by the run itself.
    @Test func `of a run ends as the run would where the key is missing`() async throws {
        let place = try await Workplace().initialised()
        let real = await place.run("run", "nightly").status
        #expect(await place.run("run", "nightly", "--dry-run").status == real)
        #expect(real == .denied || real == .config)
    }
}
