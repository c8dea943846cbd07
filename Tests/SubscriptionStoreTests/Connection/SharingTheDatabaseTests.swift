import Foundation
import GRDB
import SubscriptionStore
import Subscriptions
import TestSupport
import Testing

@Suite struct `Sharing the database` {
    /// Services update random rows all the while a run judges and corrects every row: no write of
    /// theirs is lost, and every row that we changed is one that they had not touched.
    @Test(arguments: [UInt64(1), UInt64(20_261_120)])
    func `a service's writes are never overwritten`(seed: UInt64) async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let ids = (100..<300).map(String.init)
        try store.load(ids.map { subscription($0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        let rows = try await store.rows(after: nil, limit: 500)
        let path = database.path
        let writing = Task.detached {
            var random = SeededGenerator(seed: seed)
            var configuration = Configuration()
            configuration.busyMode = .timeout(20)
            let service = try DatabaseQueue(path: path, configuration: configuration)
            var touched: Set<String> = []
            for _ in 0..<120 {
                let id = ids[Int(random.next() % UInt64(ids.count))]
                try await service.write { db in
                    try db.execute(
                        sql: """
                            UPDATE subscriptions SET status = 3, customer_id = 'service'
                            WHERE original_transaction_id = ?
                            """,
                        arguments: [id])
                }
                touched.insert(id)
            }
            return touched
        }
        for row in rows {
            try await night.stage(
                drift(row.row.key.originalTransactionID, version: row.row.rowVersion))
        }
        try await night.apply(limit: 7)
        let touched = try await writing.value
        let after = try store.subscriptions()
        for row in after {
            let id = row.key.originalTransactionID
            #expect(
                (row.customerID == "service") == touched.contains(id), "\(id), seed \(seed)")
            if !touched.contains(id) { #expect(row.status == 2, "\(id), seed \(seed)") }
            #expect(row.status == (touched.contains(id) ? 3 : 2), "\(id), seed \(seed)")
        }
        let record = try await night.conclude()
        #expect(
            try record.entries().count == record.fates().filter { $0 == .applied }.count)
    }

    @Test(arguments: [
        (ResultCode.SQLITE_FULL, "full"), (.SQLITE_READONLY, "rights"), (.SQLITE_IOERR, "disk"),
    ])
    func `a failed write is said to be one`(code: ResultCode, word: String) {
        let error = StoreError(DatabaseError(resultCode: code), doing: "writing")
        guard case .notWritten(let text) = error else {
            Issue.record("got \(error)")
            return
        }
        #expect(text.contains(word))
        #expect(text.contains("nothing of this step was written"))
    }

    @Test func `errors show the statement and hide its arguments`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1", customer: "secret-customer")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try database.execute("DROP TABLE trueup_absences")
        var absent = outcome("4711", .discrepancy)
        absent.absence = .absent(day: "2026-11-20")
        do {
            try await night.stage(absent)
            Issue.record("the write succeeded")
        } catch {
            guard case .schema(let text) = error as? StoreError else {
                Issue.record("got \(error)")
                return
            }
            #expect(text.contains("trueup_absences"))
            #expect(text.contains("SELECT"))
            #expect(!text.contains("4711"))
        }
    }
}
