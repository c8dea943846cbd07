import Foundation
import GRDB
import Testing

@testable import SubscriptionStore

struct `The turn that others get between two writes` {
    @Test(arguments: [
        (tookMilliseconds: 1, besidesOthers: true, turnMilliseconds: 0),
        (10, false, 10), (10, true, 20), (300, false, 20), (300, true, 40),
    ])
    func `is as long as the write, and twice as long while others write`(
        tookMilliseconds: Int, besidesOthers: Bool, turnMilliseconds: Int
    ) {
        let turn = WriteBackoff.turn(
            after: .milliseconds(tookMilliseconds), besidesOthers: besidesOthers)
        #expect(turn == .milliseconds(turnMilliseconds))
    }

    @Test func `is longer only once another connection has committed`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "backoff-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "rows.sqlite").path
        let (own, other) = (try DatabaseQueue(path: path), try DatabaseQueue(path: path))
        try own.write { try $0.execute(sql: "CREATE TABLE rows (id INTEGER PRIMARY KEY)") }
        let backoff = WriteBackoff()
        func write() throws -> Bool {
            let start = try own.write { db in
                let start = try backoff.begin(db)
                try db.execute(sql: "INSERT INTO rows DEFAULT VALUES")
                return start
            }
            backoff.wrote(from: start)
            return backoff.areOthersWriting
        }
        #expect(try !write())
        #expect(try !write())
        try other.write { try $0.execute(sql: "INSERT INTO rows DEFAULT VALUES") }
        #expect(try write())
    }
}
