import Foundation
import GRDB
import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Reading only` {
    @Test func `leaves file and folder byte for byte`() throws {
        let database = try TemporaryDatabase()
        try database.open().load([subscription("1"), subscription("2")])
        let before = try database.files()
        #expect(before.keys.sorted() == ["trueup.sqlite"])
        do {
            let store = try database.open(.readOnly)
            #expect(try store.subscriptions().count == 2)
            try store.close()
        }
        #expect(try database.files() == before)
    }

    @Test func `leaves the log of a killed program where it is`() throws {
        let database = try TemporaryDatabase()
        let service = try database.service()
        try service.write { try $0.execute(sql: "DELETE FROM subscriptions") }
        try database.open().load([subscription("1")])
        // What a killed program leaves: a copy of the files while they are open.
        let left = try TemporaryDatabase(created: false)
        for (name, bytes) in try database.files() {
            try bytes.write(to: left.folder.appending(path: name))
        }
        let before = try left.files()
        #expect((before["trueup.sqlite-wal"]?.count ?? 0) > 0)
        do {
            let store = try left.open(.readOnly)
            #expect(try store.subscriptions().count == 1)
            try store.close()
        }
        let after = try left.files()
        #expect(after["trueup.sqlite"] == before["trueup.sqlite"])
        #expect(after["trueup.sqlite-wal"] == before["trueup.sqlite-wal"])
        #expect(after.keys.sorted() == before.keys.sorted())
        try service.close()
    }

    @Test func `names what is in the way of opening, and not a full disk`() throws {
        let database = try TemporaryDatabase()
        let log = database.path + "-wal"
        try FileManager.default.createDirectory(atPath: log, withIntermediateDirectories: true)
        do {
            _ = try database.open(.readOnly)
            Issue.record("a folder is no log")
        } catch let error as StoreError {
            #expect(error.exitStatus == .output)
            #expect(error.description.contains("\(log) is in the way"), "\(error)")
            #expect(!error.description.contains("disk is full"), "\(error)")
        }
        #expect(SQLiteStore.obstacle(besideDatabaseAt: database.path)?.fix == "move it away")
    }

    @Test func `advises to mend the owner of what holds rows, never to move it`() {
        let fix = FileObstacle.fix(ofUnwritable: "/var/t.sqlite-wal", holdsRows: true)
        #expect(fix.hasPrefix("never move or delete it"))
        #expect(fix.hasSuffix("(chown USER /var/t.sqlite-wal)"))
    }

    @Test func `refuses to write`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open(.readOnly)
        #expect(throws: StoreError.self) { try store.load([subscription("1")]) }
        #expect(try store.subscriptions().isEmpty)
    }

    @Test func `sees what a service writes meanwhile without stopping it`() throws {
        let database = try TemporaryDatabase()
        try database.open().load([subscription("1"), subscription("2")])
        let store = try database.open(.readOnly)
        var seen = 0
        try store.forEachSubscription { _ in
            seen += 1
            try database.execute("DELETE FROM subscriptions")
        }
        #expect(seen == 2)
        #expect(try store.subscriptions().isEmpty)
    }
}
