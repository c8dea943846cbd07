import Foundation
import Reports
import Subscriptions
import Testing

@Suite struct `The check of a report folder` {
    let folder: TemporaryFolder
    private let now = Timestamp(unixMilliseconds: 1_790_000_000_000)
    private var reports: String { folder.path + "/reports" }
    private var database: ReportingDatabase {
        ReportingDatabase(identity: "a1", path: folder.path + "/first.sqlite")
    }

    init() throws {
        folder = try TemporaryFolder()
        for name in ["first", "second"] { try folder.write(name, to: name + ".sqlite") }
    }

    private func check(_ database: ReportingDatabase? = nil) -> ReportError? {
        do throws(ReportError) {
            try ReportFolder.refuse(reports, for: database ?? self.database, at: now)
            return nil
        } catch {
            return error
        }
    }

    @Test func `makes nothing, whether there is one or not`() throws {
        #expect(check() == nil)
        #expect(!FileManager.default.fileExists(atPath: reports))
        _ = try ReportFolderClaim.take(reports, for: database, holder: "job")
        let before = try FileManager.default.contentsOfDirectory(atPath: reports)
        #expect(check() == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: reports) == before)
    }

    @Test func `finds what is in the way`() throws {
        try folder.write("x", to: "reports")
        guard case .cannotCreate(let text) = check() else {
            Issue.record("a file is no folder")
            return
        }
        #expect(text.contains("File exists; move away what is there, or change"))
    }

    @Test(arguments: [".lock", "latest", "index.csv", "index.csv.partial"])
    func `finds a folder where something else belongs`(name: String) throws {
        try FileManager.default.createDirectory(
            atPath: reports + "/" + name, withIntermediateDirectories: true)
        guard case .cannotCreate = check() else {
            Issue.record("\(name) is a folder")
            return
        }
    }

    @Test func `knows another run and another database`() throws {
        let claim = try ReportFolderClaim.take(reports, for: database, holder: "job@host")
        guard case .busy(let text) = check() else {
            Issue.record("it is locked")
            return
        }
        #expect(text.contains("job@host"))
        _ = consume claim
        let other = ReportingDatabase(identity: "b2", path: folder.path + "/second.sqlite")
        guard case .otherDatabase = check(other) else {
            Issue.record("it is another's")
            return
        }
    }
}
