import Foundation
import Reports
import Testing

@Suite struct `The claim to a report folder` {
    let folder: TemporaryFolder
    private var first: ReportingDatabase {
        ReportingDatabase(identity: "a1", path: folder.path + "/first.sqlite")
    }
    private var second: ReportingDatabase {
        ReportingDatabase(identity: "b2", path: folder.path + "/second.sqlite")
    }
    private var reports: String { folder.path + "/reports" }

    init() throws {
        folder = try TemporaryFolder()
        for name in ["first", "second"] { try folder.write(name, to: name + ".sqlite") }
    }

    private func take(
        _ database: ReportingDatabase, replacing: Bool = false
    ) throws(ReportError) -> ReportFolderClaim {
        try ReportFolderClaim.take(
            reports, for: database, holder: "job@host, process 7", replacing: replacing)
    }

    @Test func `is had by one run at a time, and says who has it`() throws {
        let claim = try take(first)
        let error = #expect(throws: ReportError.self) { _ = try take(first) }
        guard case .busy(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("job@host, process 7"))
        _ = consume claim
        _ = try take(first)
    }

    @Test func `is for the database that came first`() throws {
        _ = try take(first)
        let error = #expect(throws: ReportError.self) { _ = try take(second) }
        guard case .otherDatabase(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("first.sqlite (a1)") && text.contains("second.sqlite (b2)"))
        // Not even in the other's place, as long as that one is still there.
        #expect(throws: ReportError.self) { _ = try take(second, replacing: true) }
        try FileManager.default.removeItem(atPath: first.path)
        try take(second, replacing: true).bind(second)
        _ = try take(second)
    }

    @Test func `names its database from where the folder stands`() throws {
        _ = try take(first)
        #expect(
            try folder.text("reports/database.json")
                == "{\"database\":\"a1\",\"path\":\"../first.sqlite\"}\n")
        // A copy of everything is a place of its own, although the first one still stands.
        let copy = try TemporaryFolder()
        for name in ["first.sqlite", "reports"] {
            try FileManager.default.copyItem(
                atPath: folder.path + "/" + name, toPath: copy.path + "/" + name)
        }
        _ = try ReportFolderClaim.take(
            copy.path + "/reports",
            for: ReportingDatabase(identity: "a1", path: copy.path + "/first.sqlite"), holder: "x")
    }

    @Test func `is refused to a copy beside the database`() throws {
        _ = try take(first)
        let copy = ReportingDatabase(identity: "a1", path: second.path)
        #expect(throws: ReportError.self) { _ = try take(copy) }
        // Once the first is gone, the other is where it was moved to.
        try FileManager.default.removeItem(atPath: first.path)
        _ = try take(copy)
        #expect(try folder.text("reports/database.json").contains("../second.sqlite"))
    }

    @Test func `is adopted once where an earlier version left no note`() throws {
        _ = try folder.report()
        _ = try ReportFolderClaim.take(folder.path, for: second, holder: "x")
        #expect(throws: ReportError.self) {
            _ = try ReportFolderClaim.take(folder.path, for: first, holder: "x")
        }
        // A note that was lost is made again from the newest manifest.
        var context = Samples.context
        context.database = "b2"
        _ = try folder.report(try Samples.run("20261121T031704Z-000002"), context: context)
        try FileManager.default.removeItem(atPath: folder.path + "/database.json")
        #expect(throws: ReportError.self) {
            _ = try ReportFolderClaim.take(folder.path, for: first, holder: "x")
        }
    }

    @Test func `leaves a lock that no other user can open`() throws {
        _ = try take(first)
        let attributes = try FileManager.default.attributesOfItem(atPath: reports + "/.lock")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
}
