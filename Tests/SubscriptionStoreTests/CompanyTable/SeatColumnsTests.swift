import SubscriptionStore
import Subscriptions
import Testing

/// The columns of seats, which the table has only where the company wants them.
@Suite struct `The columns of seats` {
    private func row(_ id: String, _ seats: Int64?, signed: Int64 = 1000) -> LocalSubscription {
        var row = subscription(id, status: 1)
        row.quantity = seats
        row.renewalQuantity = seats.map { $0 - 1 }
        row.revokedSeats = seats.map { $0 - 2 }
        row.signedDate = Timestamp(unixMilliseconds: signed)
        return row
    }

    private func columns(_ database: TemporaryDatabase) throws -> [String] {
        try database.rows("SELECT name FROM pragma_table_info('subscriptions')").flatMap(\.self)
    }

    private let seats: Set<SubscriptionField> = [.quantity, .renewalQuantity, .revokedSeats]
    private var given: Set<SubscriptionField> { seats.union([.status, .signedDate]) }

    @Test func `are absent from a new table, which is read without them`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        #expect(try store.columnsNotStored() == SubscriptionField.optional)
        #expect(
            try columns(database)
                == SubscriptionField.stored.map(\.rawValue) + ["row_version"])
        try store.load([row("1", nil)], columns: [.status, .signedDate])
        #expect(try store.subscriptions().map(\.quantity) == [nil])
        #expect(try store.columnsNotStored() == SubscriptionField.optional)
    }

    @Test func `are added by an import that has them, and read and updated from then on`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([row("1", nil)], columns: [.status, .signedDate])
        let counts = try store.load([row("1", 5), row("2", 7)], columns: given)
        #expect([counts.inserted, counts.updated] == [1, 1])
        #expect(try store.columnsNotStored().isDisjoint(with: seats))
        let added = ["quantity", "renewal_quantity", "revoked_seats"]
        #expect(
            try columns(database)
                == SubscriptionField.stored.map(\.rawValue) + ["row_version"] + added)
        #expect(try store.subscriptions().map(\.quantity) == [5, 7])
        #expect(try store.subscriptions().map(\.revokedSeats) == [3, 5])
        // Opened again, and by a file that has none of them.
        let again = try database.open()
        try again.load([row("1", nil, signed: 2000)], columns: [.status, .signedDate])
        #expect(try again.subscriptions().map(\.renewalQuantity) == [4, 6])
        #expect(try again.columnsInUse().suffix(3).map(\.rawValue) == added)
        try SQLiteStore.create(at: database.path)
    }

    @Test func `are added each on its own`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([row("1", 5)], columns: [.revokedSeats, .signedDate])
        #expect(try store.columnsNotStored().intersection(seats) == [.quantity, .renewalQuantity])
        let read = try #require(try store.subscriptions().first)
        #expect(read.revokedSeats == 3 && read.quantity == nil)
    }

    @Test func `are looked at by a dry run, which adds nothing`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([row("1", nil)], columns: [.status, .signedDate])
        let counts = try store.loadSubscriptions(columns: given, dryRun: true) { add in
            _ = try add(row("1", 5))
            _ = try add(row("2", 5))
        }
        #expect([counts.inserted, counts.updated] == [1, 1])
        #expect(try store.columnsNotStored() == SubscriptionField.optional)
    }

    @Test func `are not added by a file that is refused`() throws {
        struct Refused: Error {}
        let database = try TemporaryDatabase()
        let store = try database.open()
        #expect(throws: Refused.self) {
            try store.loadSubscriptions(columns: given) { add in
                _ = try add(row("1", 5))
                throw Refused()
            }
        }
        #expect(try store.columnsNotStored() == SubscriptionField.optional)
    }

    @Test func `may be the company's own, and of another type they are named`() throws {
        let database = try TemporaryDatabase()
        try database.execute("ALTER TABLE subscriptions ADD COLUMN quantity INTEGER")
        let store = try database.open()
        #expect(
            try store.columnsNotStored().intersection(seats) == [.renewalQuantity, .revokedSeats])
        let other = try TemporaryDatabase()
        try other.execute("ALTER TABLE subscriptions ADD COLUMN quantity TEXT")
        #expect(throws: StoreError.self) { try other.open() }
    }
}
