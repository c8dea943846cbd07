import Foundation
import GRDB
import Testing

@testable import SubscriptionStore

struct `The turn that others get between two writes` {
    @Test(arguments: [
        (took: 1, held: 29, besidesOthers: false, turn: 0), (10, 29, false, 0),
        (1, 30, false, 20), (10, 30, false, 20), (300, 300, false, 20),
        (1, 29, true, 0), (1, 30, true, 20), (10, 10, true, 20), (300, 300, true, 40),
    ])
    func `begins after 30 ms of writing, and after each longer write while others write`(
        took: Int, held: Int, besidesOthers: Bool, turn: Int
    ) {
        let given = WriteBackoff.turn(
            after: .milliseconds(took), held: .milliseconds(held), besidesOthers: besidesOthers)
        #expect(given == .milliseconds(turn))
    }

    /// As `sqlite3_busy_timeout` has it.
    private static let pausesOfWaitingPrograms = [1.0, 2, 5, 10, 15, 20, 25, 25, 25]

    /// The last transaction may end later than the hold.
    @Test(arguments: [0, 5, 10])
    func `is met by a program that began to wait at any moment`(overrun: Int) {
        let hold = Double(StoreLimits.longestHoldMilliseconds + overrun)
        let turn = Double(StoreLimits.turnMilliseconds)
        for began in stride(from: 0, to: hold, by: 0.25) {
            var now = began
            let tries = Self.pausesOfWaitingPrograms.map { pause in
                now += pause
                return now
            }
            #expect(tries.contains { $0 >= hold && $0 <= hold + turn }, "\(began)")
        }
    }

    @Test func `is counted over writes that are short, and begins anew afterwards`() throws {
        let backoff = WriteBackoff()
        backoff.wrote(from: .now - .milliseconds(20))
        #expect(backoff.pause == .zero)
        backoff.wrote(from: .now - .milliseconds(20))
        #expect(backoff.pause > .zero)
        // What was held before a turn counts no more after it.
        usleep(UInt32(StoreLimits.turnMilliseconds + 5) * 1000)
        #expect(backoff.pause == .zero)
        backoff.wrote(from: .now - .milliseconds(20))
        #expect(backoff.pause == .zero)
    }

    @Test func `is longer only once another program has committed, not a connection of its own`()
        throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "backoff-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "rows.sqlite").path
        let (own, second) = (try DatabaseQueue(path: path), try DatabaseQueue(path: path))
        let other = try DatabaseQueue(path: path)
        try own.write { try $0.execute(sql: "CREATE TABLE rows (id INTEGER PRIMARY KEY)") }
        let backoff = WriteBackoff()
        func write(on connection: DatabaseQueue) throws -> Bool {
            let start = try connection.write { db in
                let start = try backoff.begin(db)
                try db.execute(sql: "INSERT INTO rows DEFAULT VALUES")
                return start
            }
            // Too short for a turn unless others write.
            backoff.wrote(from: start - .milliseconds(3))
            return backoff.pause > .zero
        }
        for connection in [own, own, second, second, own] {
            #expect(try !write(on: connection))
        }
        try other.write { try $0.execute(sql: "INSERT INTO rows DEFAULT VALUES") }
        #expect(try write(on: own))
    }
}
