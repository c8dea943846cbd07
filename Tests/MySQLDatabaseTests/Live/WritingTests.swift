#if MySQL
    import Foundation
    import MySQLDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    @Suite(.enabled(if: OwnMariaDB.isInstalled, "needs a MariaDB server (apt: mariadb-server)"))
    struct `Writing to a company's table in MySQL` {
        private func row(_ number: Int, _ live: LiveCompany) throws -> CompanyRow {
            try #require(try live.company.row(LiveCompany.key(number)))
        }

        private let expired = "SELECT count(*) FROM subs WHERE status = 'expired'"

        @Test func `changes mapped columns alone, with the entry in one transaction`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            let before = try live.unmapped()
            let read = try row(1, live)
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(read)) == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.sql(expired) == "0")
            #expect(try live.company.commit() == .committed)
            #expect(try live.sql(expired) == "1")
            #expect(try live.unmapped() == before)
            #expect(try live.company.entries(after: 0, limit: 10) == [LiveCompany.entry(1)])
            #expect(try live.company.entries(after: 1, limit: 10).isEmpty)
        }

        @Test(arguments: [
            (0, "11:59:59"), (1, "11:59:59.9"), (2, "11:59:59.98"), (3, "11:59:59.987"),
        ])
        func `cuts a time to what its column keeps`(digits: Int, kept: String) throws {
            let live = try LiveCompany(
                preparing: "ALTER TABLE subs MODIFY expires_at TIMESTAMP(\(digits)) NULL, "
                    + "MODIFY ends_at DATETIME(\(digits)) NULL;")
            try live.company.check(mayWrite: true)
            #expect(live.company.precision.digits[.expiresDate] == (digits < 3 ? digits : nil))
            let row = try row(1, live)
            let apples = try #require(Timestamp(rfc3339: "2026-12-31T11:59:59.987Z"))
            let fields: [MappedField] = [.expiresDate, .revocationDate]
            try live.company.begin()
            let fate = try live.company.write(
                CompanyChange(
                    action: .update, key: row.key,
                    before: row.values.filter { fields.contains($0.key) },
                    after: [.expiresDate: .time(apples), .revocationDate: .time(apples)],
                    version: row.version))
            #expect(fate == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            let expected = try #require(Timestamp(rfc3339: "2026-12-31T\(kept)Z"))
            for field in fields {
                #expect(try self.row(1, live).values[field] == .time(expected))
            }
        }

        @Test func `refuses a time that a TIMESTAMP cannot hold, and writes the others`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            let read = try row(1, live)
            try live.company.begin()
            let fate = try live.company.write(
                CompanyChange(
                    action: .update, key: read.key,
                    before: [.expiresDate: read.values[.expiresDate] ?? .null],
                    after: [
                        .expiresDate: .time(
                            try #require(Timestamp(rfc3339: "2039-01-01T00:00:00Z")))
                    ],
                    version: read.version))
            guard case .refused(let words) = fate else {
                Issue.record("\(fate)")
                return
            }
            #expect(words.contains("expires_at") && !words.contains("2039"), "\(words)")
            #expect(
                try live.company.write(LiveCompany.expire(try row(2, live))) == .applied(version: 2)
            )
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            #expect(try row(1, live) == read)
            #expect(try live.sql(expired) == "1")
        }

        @Test func `holds a row from its comparison to its commit`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            let read = try row(1, live)
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(read)) == .applied(version: 2))
            var limits = MySQLLimits()
            limits.lockSeconds = 1
            let service = try MariaDBSession(LiveCompany.address(live.database), limits: limits)
            #expect {
                try service.execute(
                    "UPDATE subs SET note = 'x' WHERE original_transaction_id = '2000000000000001'")
            } throws: { ($0 as? MySQLFailure)?.number == 1205 }
            // Others are not held.
            try service.execute(
                "UPDATE subs SET note = 'x' WHERE original_transaction_id = '2000000000000002'")
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
        }

        @Test func `inserts and deletes a row, with a UUID as its bytes`() throws {
            var mapping = LiveCompany.mapping
            mapping.inserts = ["note": .text("trueup")]
            let live = try LiveCompany(mapping: mapping)
            try live.company.check(mayWrite: true)
            let customer = "6e5f0d3a-9b1c-4c2e-8f00-0123456789ab"
            try live.company.begin()
            let change = CompanyChange(
                action: .insert, key: LiveCompany.key(77), before: [:],
                after: [
                    .customerID: .text(customer), .productID: .text("p"), .status: .integer(1),
                    .webOrderLineItemID: .text("42"),
                ])
            #expect(try live.company.write(change) == .applied(version: 1))
            #expect(try live.company.write(change) == .stale)
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            let inserted = try row(77, live)
            #expect(inserted.values[.customerID] == .text(customer))
            #expect(
                try live.sql("SELECT LOWER(HEX(user_id)) FROM subs WHERE note = 'trueup'")
                    == customer.filter { $0 != "-" })
            try live.company.begin()
            #expect(
                try live.company.write(
                    CompanyChange(
                        action: .delete, key: inserted.key, before: inserted.values, after: [:],
                        version: inserted.version)) == .applied(version: nil))
            try live.company.append(LiveCompany.entry(2))
            #expect(try live.company.commit() == .committed)
            #expect(try live.company.row(LiveCompany.key(77)) == nil)
        }

        @Test func `begins again after a deadlock`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            let rows = try (1...2).map { try row($0, live) }
            let service = try MariaDBSession(LiveCompany.address(live.database))
            try service.execute("START TRANSACTION")
            // So much that the other one is the victim.
            try service.execute(
                "UPDATE subs SET note = 'x' WHERE original_transaction_id >= '2000000000000002'")
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(rows[0])) == .applied(version: 2))
            Thread.detachNewThread {
                Thread.sleep(forTimeInterval: 0.5)
                try? service.execute(
                    "UPDATE subs SET note = 'x' WHERE original_transaction_id = '2000000000000001'")
                try? service.execute("COMMIT")
            }
            #expect(try live.company.write(LiveCompany.expire(rows[1])) == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            #expect(live.company.repetitions > 0)
            #expect(try live.sql(expired) == "2")
        }

        @Test func `does once more what a lost session had done`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            let rows = try (1...2).map { try row($0, live) }
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(rows[0])) == .applied(version: 2))
            try live.killSessions()
            #expect(try live.company.write(LiveCompany.expire(rows[1])) == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            #expect(try live.sql(expired) == "2")
            #expect(live.company.repetitions > 0)
        }

        @Test func `gives the unit up where the company changed a row meanwhile`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            let rows = try (1...2).map { try row($0, live) }
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(rows[0])) == .applied(version: 2))
            try live.killSessions()
            try live.sql(
                "UPDATE subs SET lock_version = 7 WHERE original_transaction_id = '2000000000000001'"
            )
            #expect {
                try live.company.write(LiveCompany.expire(rows[1]))
            } throws: { ($0 as? StoreError)?.exitStatus == .busy }
            live.company.rollBack()
            #expect(try live.sql(expired) == "0")
            #expect(try live.company.entries(after: 0, limit: 10).isEmpty)
        }
    }

    @Suite(.enabled(if: OwnMariaDB.isInstalled, "needs a MariaDB server (apt: mariadb-server)"))
    struct `A COMMIT without an answer in MySQL` {
        private let written = """
            SELECT CONCAT(count(*), ' ', (SELECT count(*) FROM trueup_corrections), ' ',
                MAX(lock_version)) FROM subs WHERE status = 'expired'
            """

        @Test func `is made once where the connection is lost behind its entry`() throws {
            let live = try LiveCompany()
            let sessions = BreakableMySQLSessions()
            let company = try live.company(over: sessions)
            try company.check(mayWrite: true)
            let row = try #require(try company.row(LiveCompany.key(1)))
            try company.begin()
            #expect(try company.write(LiveCompany.expire(row)) == .applied(version: 2))
            try company.append(LiveCompany.entry(1))
            sessions.set(.lostAfter("INSERT INTO trueup_corrections"))
            #expect(try company.commit() == .committed)
            #expect(try company.entries(after: 0, limit: 10) == [LiveCompany.entry(1)])
            #expect(try live.sql(written) == "1 1 2")
            #expect(company.repetitions > 0)
        }

        @Test func `waits for a transaction that the server still works on`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            // As a session whose answer was lost leaves it.
            let lost = try MariaDBSession(LiveCompany.address(live.database))
            let sessions = BreakableMySQLSessions()
            let company = try live.company(over: sessions)
            let row = try #require(try company.row(LiveCompany.key(1)))
            try company.begin()
            _ = try company.write(LiveCompany.expire(row))
            try company.append(LiveCompany.entry(1))
            try lost.execute("START TRANSACTION")
            _ = try lost.run(
                """
                INSERT INTO trueup_corrections
                VALUES ('these books', 1, 'digest 1', 'run', 1, '{}')
                """, [])
            Thread.detachNewThread {
                Thread.sleep(forTimeInterval: 3)
                try? lost.execute("ROLLBACK")
            }
            // Its own insertion waits for the lost one, too, and is begun again.
            #expect(try company.commit() == .committed)
            #expect(try live.sql(written) == "1 1 2")
        }

        @Test func `is of one database of trueup's, whatever others write`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            let other = MySQLCompany(
                try .libmariadb(LiveCompany.address(live.database)), mapping: live.mapping,
                books: "other books")
            try other.check(mayWrite: true)
            for (number, company) in [(1, live.company), (2, other)] {
                let row = try #require(try company.row(LiveCompany.key(number)))
                try company.begin()
                #expect(try company.write(LiveCompany.expire(row)) == .applied(version: 2))
                try company.append(LiveCompany.entry(1))
                #expect(try company.commit() == .committed)
                #expect(try company.entries(after: 0, limit: 10) == [LiveCompany.entry(1)])
            }
            #expect(try live.sql(written) == "2 2 2")
        }
    }
#endif
