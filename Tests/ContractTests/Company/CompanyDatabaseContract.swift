import SubscriptionStore
import Subscriptions
import TestSupport
import Testing
import trueup

/// The promises of every adapter for the company's own table.
@Suite struct `The contract of a company's database` {
    @Test(arguments: CompanyPlace.here)
    func `pages have every row once, while others change`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: false)
        let all = Set((1...25).map { ContractTable.key($0) })
        for limit in [1, 2, 7, 25, 26] {
            let rows = try table.rows(limit: limit) {
                // One that was read already, and one that is still to come.
                try table.service("status = 3 - status, version = version + 1", of: 1)
                try table.service("status = 3 - status, version = version + 1", of: 25)
            }
            #expect(rows.count == 25, "\(limit)")
            #expect(Set(rows.map(\.key)) == all)
        }
        // Rows that the service deletes and adds between two pages cost no other one.
        var isFirst = true
        let rows = try table.rows(limit: 5) {
            guard isFirst else { return }
            isFirst = false
            try table.sql(
                "DELETE FROM subscriptions WHERE original_transaction_id = '\(ContractTable.id(5))'"
            )
            try table.sql(
                """
                INSERT INTO subscriptions (bundle_id, environment, original_transaction_id, status)
                VALUES ('com.example.app', 'Production', '\(ContractTable.id(30))', 1)
                """)
        }
        #expect(Set(rows.map(\.key)) == all.union([ContractTable.key(30)]))
        #expect(try table.company.row(ContractTable.key(5)) == nil)
        #expect(try table.company.row(ContractTable.key("none")) == nil)
    }

    /// Right and wrong values before, with a right, a wrong and no version.
    @Test(arguments: CompanyPlace.here)
    func `a change is made where every value is as it was read`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: true)
        let time = FieldValue.time(Timestamp(unixMilliseconds: 1_790_000_000_125))
        let values: [(MappedField, stored: String, read: FieldValue, other: FieldValue)] = [
            (.status, "1", .integer(1), .integer(2)), (.status, "NULL", .null, .integer(2)),
            (.productID, "'Pro'", .text("Pro"), .text("pro")),
            (.productID, "'Pro'", .text("Pro"), .text("Pro ")),
            (.productID, "'Pro'", .text("Pro"), .text("Prö")),
            (.productID, "NULL", .null, .text("Pro")),
            (.productID, "'Pro'", .text("Pro"), .null),
            (.expiresDate, "1790000000125", time, .null), (.expiresDate, "NULL", .null, time),
        ]
        for (field, stored, read, other) in values {
            for isRight in [true, false] {
                for version in [0, 1, nil] as [Int64?] {
                    try table.service(
                        "\(field.name) = \(stored), version = version + 1", of: 2)
                    let row = try table.row(2)
                    #expect(row.values[field] == read)
                    var change = ContractTable.update(row, [field: other])
                    change.before[field] = isRight ? read : other
                    change.version = version.flatMap { offset in row.version.map { $0 + offset } }
                    // A value that is there already makes no difference.
                    let fate = try table.write(change)[0]
                    let expected = isRight && version != 1
                    #expect(fate.isApplied == expected, "\(field) \(stored) \(other) \(fate)")
                    let after = try table.row(2)
                    #expect(after.values[field] == (expected ? other : read))
                    if expected {
                        #expect(after.version != row.version)
                    } else {
                        #expect(fate == .stale)
                        #expect(after == row)
                    }
                }
            }
        }
        #expect(try table.entries == Array(1...Int64(values.count * 2)))
    }

    @Test(arguments: CompanyPlace.here)
    func `a row that changed since it was read is left alone`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: true)
        let read = try (1...4).map { try table.row($0) }
        try table.service("status = 5, version = version + 1", of: 1)
        try table.service("version = version + 1", of: 2)
        try table.sql(
            "DELETE FROM subscriptions WHERE original_transaction_id = '\(ContractTable.id(3))'")
        for row in read[0...2] {
            let fates = try table.write(ContractTable.update(row, [.status: .integer(2)]))
            #expect(fates == [.stale])
        }
        // The same value again is written, or nothing: it is no conflict.
        #expect(
            try table.write(ContractTable.update(read[3], [.status: .integer(1)]))[0].isApplied)
        #expect(try table.row(1).values[.status] == .integer(5))
        #expect(try table.row(2).values[.status] == .integer(1))
        #expect(try table.company.row(ContractTable.key(3)) == nil)
    }

    @Test(arguments: CompanyPlace.here)
    func `a row and its entry are committed together`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: true)
        let read = try table.row(1)
        try table.company.begin()
        #expect(
            try table.company.write(ContractTable.update(read, [.status: .integer(2)])).isApplied)
        try table.company.append(ContractTable.entry(1))
        table.company.rollBack()
        table.company.rollBack()
        #expect(try table.row(1) == read)
        #expect(try table.entries.isEmpty)
        #expect(try table.write(ContractTable.update(read, [.status: .integer(2)]))[0].isApplied)
        #expect(try table.row(1).values[.status] == .integer(2))
        #expect(
            try table.company.entries(after: 0, limit: 9).map(\.content)
                == [ContractTable.entry(1).content])
        #expect(
            try table.company.entries(after: 0, limit: 9).map(\.digest)
                == [ContractTable.entry(1).digest])
    }

    @Test(arguments: CompanyPlace.here)
    func `a refused or stale row does not stop the others`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: true)
        let rows = try (1...4).map { try table.row($0) }
        try table.service("version = version + 1", of: 3)
        let fates = try table.write(
            ContractTable.update(rows[0], [.status: .integer(2)]),
            ContractTable.update(rows[1], [.status: .integer(99)]),
            ContractTable.update(rows[2], [.status: .integer(2)]),
            ContractTable.update(rows[3], [.status: .integer(2)]))
        #expect(fates[0].isApplied && fates[1].isRefused && fates[3].isApplied, "\(fates)")
        #expect(fates[2] == .stale)
        #expect(try table.row(2) == rows[1])
        #expect(
            try (1...4).map { try table.row($0).values[.status] }
                == [.integer(2), .integer(1), .integer(1), .integer(2)])
        #expect(try table.entries == [1, 2])
    }

    /// Kept as they are, or refused with the row as it was.
    @Test(arguments: CompanyPlace.here)
    func `odd texts are kept exactly, or refused`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: true)
        let texts = [
            "", " ", "'; DROP TABLE subscriptions; --", "\"\\%_`$1?",
            "é 🦆 \u{1F468}\u{200D}\u{1F469}",
            "line\r\nline\ttab", "a\u{0}b", String(repeating: "ä", count: 30_000),
        ]
        for text in texts {
            let row = try table.row(1)
            let fate = try table.write(ContractTable.update(row, [.productID: .text(text)]))[0]
            let after = try table.row(1)
            if fate.isApplied {
                #expect(after.values[.productID] == .text(text))
            } else {
                #expect(fate.isRefused && text.contains("\u{0}"), "\(text.prefix(20)) \(fate)")
                #expect(after == row)
            }
        }
        #expect(try table.rows(limit: 100).count == 25)
    }

    @Test(arguments: CompanyPlace.here)
    func `entries come in order, page by page`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: true)
        for number in 1...12 {
            let row = try table.row(number)
            #expect(try table.write(ContractTable.update(row, [.status: .integer(2)]))[0].isApplied)
        }
        var found: [Int64] = []
        while case let page = try table.company.entries(after: found.last ?? 0, limit: 5),
            !page.isEmpty
        { found += page.map(\.number) }
        #expect(found == Array(1...12))
        #expect(try table.company.entries(after: 12, limit: 5).isEmpty)
    }

    @Test(arguments: CompanyPlace.here)
    func `an undo puts the values back`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: true)
        let read = try table.row(1)
        let time = FieldValue.time(Timestamp(unixMilliseconds: 1_790_000_000_000))
        let change = ContractTable.update(read, [.status: .integer(2), .expiresDate: time])
        #expect(try table.write(change)[0].isApplied)
        var undo = ContractTable.update(
            try table.row(1), [.status: .integer(1), .expiresDate: .null])
        undo.isUndo = true
        #expect(try table.write(undo)[0].isApplied)
        #expect(try table.row(1).values == read.values)
        #expect(try table.entries == [1, 2])
        // It is made only where the row is as the correction left it.
        #expect(try table.write(undo) == [.stale])
    }

    @Test(arguments: CompanyPlace.here)
    func `rows are inserted once, and deleted`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: true)
        let insert = CompanyChange(
            action: .insert, key: ContractTable.key(77), before: [:],
            after: [.status: .integer(1), .productID: .text("p")])
        #expect(try table.write(insert)[0].isApplied)
        #expect(try !table.write(insert)[0].isApplied)
        #expect(try table.rows(limit: 100).count == 26)
        let inserted = try table.row(77)
        #expect(inserted.values[.productID] == .text("p"))
        let delete = CompanyChange(
            action: .delete, key: inserted.key, before: inserted.values, after: [:],
            version: inserted.version)
        #expect(try table.write(delete)[0].isApplied)
        #expect(try table.company.row(ContractTable.key(77)) == nil)
        #expect(try table.write(delete) == [.stale])
        #expect(try table.entries == [1, 2])
    }

    /// Two runs that would both number a correction alike.
    @Test(arguments: CompanyPlace.here)
    func `the number of an entry is committed once`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: true)
        let first = try table.row(1)
        #expect(try table.write(ContractTable.update(first, [.status: .integer(2)]))[0].isApplied)
        let second = try table.row(2)
        try table.company.begin()
        _ = try table.company.write(ContractTable.update(second, [.status: .integer(2)]))
        // Some say so at once, and some when they commit.
        let outcome = Result {
            try table.company.append(ContractTable.entry(1))
            return try table.company.commit(keeping: [])
        }
        table.company.rollBack()
        #expect((try? outcome.get()) != .committed)
        #expect(try table.row(2) == second)
        #expect(try table.entries == [1])
    }

    /// The adapter of a server finds its end, and does it once more if it was not done.
    ///
    /// That of a program leaves it to the entries, which the caller reads.
    @Test(arguments: CompanyPlace.here.filter(\.losesCommits), LostCommit.allCases)
    func `a commit without an answer is made once`(
        place: CompanyPlace, lost: LostCommit
    ) throws {
        let table = try place.table()
        try table.company.check(mayWrite: true)
        let (company, lose) = try table.reconnect(losing: lost)
        func unit(_ disturb: () -> Void = {}) throws -> CommitOutcome {
            let read = try #require(try company.row(ContractTable.key(1)))
            try company.begin()
            defer { company.rollBack() }
            let change = ContractTable.update(read, [.status: .integer(2)])
            #expect(try company.write(change).isApplied)
            try company.append(ContractTable.entry(1))
            disturb()
            return try company.commit(keeping: [])
        }
        let before = try #require(try table.row(1).version)
        let outcome = try unit(lose)
        if place == .program {
            #expect(outcome == .unknown)
            let entries = try company.entries(after: 0, limit: 9).map(\.digest)
            #expect(entries == (lost == .answer ? [ContractTable.entry(1).digest] : []))
            if lost == .request { #expect(try unit() == .committed) }
        } else {
            #expect(outcome == .committed)
        }
        #expect(try company.entries(after: 0, limit: 9).map(\.number) == [1])
        let after = try table.row(1)
        #expect(after.values[.status] == .integer(2) && after.version == before + 1)
        // No second unit has its number.
        #expect((try? unit()) != .committed)
        #expect(try table.row(1) == after)
    }

    @Test(arguments: CompanyPlace.here.filter(\.canBeReadOnly))
    func `a database that may only be read is read, and refused for writes`(
        place: CompanyPlace
    ) throws {
        let table = try place.table(isAlone: true)
        try table.company.check(mayWrite: true)
        try place.setReadOnly(true, table)
        let company = try table.reconnect().company
        try company.check(mayWrite: false)
        #expect(
            try company.rows(of: .subscriptions, after: nil, limit: 100, of: nil).rows.count == 25)
        func expectRefused(_ attempt: () throws -> Void) {
            #expect {
                try attempt()
            } throws: { error in
                (error as? StoreError)?.exitStatus == (place == .file ? .output : .unavailable)
            }
        }
        expectRefused { try company.check(mayWrite: true) }
        let row = try table.row(1)
        let change = ContractTable.update(row, [.status: .integer(2)])
        expectRefused {
            defer { company.rollBack() }
            try company.begin()
            _ = try company.write(change)
        }
        #expect(try table.row(1) == row)
        try place.setReadOnly(false, table)
        let again = try table.reconnect().company
        try again.begin()
        #expect(try again.write(change).isApplied)
        again.rollBack()
    }

    @Test(arguments: CompanyPlace.here)
    func `a run that only checks leaves nothing there`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: false)
        #expect(try table.rows(limit: 10).count == 25)
        #expect(try table.entries.isEmpty)
        // The program was told that it writes, as it is told only once.
        guard place != .program else { return }
        #expect(throws: (any Error).self) {
            try table.sql(
                place == .postgresql
                    ? "SELECT 1 FROM trueup.ledger" : "SELECT 1 FROM trueup_corrections")
        }
    }

    @Test(arguments: CompanyPlace.here)
    func `a query of the company's gives its number, or says why not`(place: CompanyPlace) throws {
        let table = try place.table()
        try table.company.check(mayWrite: false)
        func isConfig(_ query: String) -> Bool {
            do {
                _ = try table.company.number(of: query)
                return false
            } catch { return error.exitStatus == .config }
        }
        guard place != .program else {
            #expect(isConfig("SELECT 1"))
            return
        }
        let count = "SELECT count(*) FROM subscriptions"
        #expect(try table.company.number(of: count + " WHERE status = 1") == 25)
        #expect(try table.company.number(of: "SELECT 'running', 1.5") == 1.5)
        for query in [
            "SELECT nothing FROM subscriptions", "SELECT 1 FROM nowhere", "SELECT", "SELECT 'x'",
            "SELECT status FROM subscriptions", "SELECT NULL", "DELETE FROM nowhere",
        ] {
            #expect(isConfig(query), "\(query)")
        }
        // A failed query leaves the connection as it was.
        #expect(try table.company.number(of: count) == 25)
        #expect(try table.rows(limit: 10).count == 25)
    }
}
