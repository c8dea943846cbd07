import Foundation
import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Holding the lock` {
    private let now = Timestamp(unixMilliseconds: 1_790_000_000_000)

    private func take(
        _ database: TemporaryDatabase, as holder: String = "me"
    ) throws(RunLockError) -> RunLock {
        try RunLock.acquire(
            forDatabaseAt: database.path, holder: holder, now: now, waitMilliseconds: 0)
    }

    @Test func `a second run is told who holds it and since when`() throws {
        let database = try TemporaryDatabase()
        do {
            let first = try take(database, as: "nightly@host")
            #expect(throws: RunLockError.held(by: "nightly@host", since: now)) {
                _ = try take(database)
            }
            let seen = SQLiteStore.lockHolder(ofDatabaseAt: database.path)
            #expect(seen?.holder == "nightly@host")
            #expect(seen?.since == now)
            _ = consume first
        }
        #expect(SQLiteStore.lockHolder(ofDatabaseAt: database.path) == nil)
        _ = try take(database)
    }

    @Test func `nobody else can open the lock file, not even one of an earlier version`() throws {
        let database = try TemporaryDatabase()
        func mode() throws -> Int {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: database.path + "-lock")
            return attributes[.posixPermissions] as? Int ?? 0
        }
        _ = try take(database)
        #expect(try mode() == 0o600)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: database.path + "-lock")
        _ = try take(database)
        #expect(try mode() == 0o600)
    }

    @Test func `a symbolic link leads to the same lock`() throws {
        let database = try TemporaryDatabase()
        let link = database.folder.appending(path: "link.sqlite")
        try FileManager.default.createSymbolicLink(
            at: link, withDestinationURL: URL(fileURLWithPath: database.path))
        let first = try take(database)
        #expect(throws: RunLockError.self) {
            _ = try RunLock.acquire(
                forDatabaseAt: link.path, holder: "b", now: now, waitMilliseconds: 0)
        }
        _ = consume first
    }

    @Test func `looking for a holder makes no file`() throws {
        let database = try TemporaryDatabase()
        let before = try database.files()
        #expect(SQLiteStore.lockHolder(ofDatabaseAt: database.path) == nil)
        #expect(try database.files() == before)
    }

    @Test func `a folder that is not there is named`() throws {
        #expect(throws: RunLockError.self) {
            _ = try RunLock.acquire(
                forDatabaseAt: "/nonexistent/x.sqlite", holder: "b", now: now, waitMilliseconds: 0)
        }
    }

    @Test func `a killed process leaves no lock behind`() throws {
        let database = try TemporaryDatabase()
        _ = try take(database)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
        process.arguments = ["--exclusive", "--no-fork", database.path + "-lock", "sleep", "60"]
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/flock") else { return }
        try process.run()
        defer { process.terminate() }
        while SQLiteStore.lockHolder(ofDatabaseAt: database.path) == nil { usleep(5000) }
        #expect(throws: RunLockError.self) { _ = try take(database) }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        _ = try RunLock.acquire(
            forDatabaseAt: database.path, holder: "next", now: now, waitMilliseconds: 2000)
    }
}
