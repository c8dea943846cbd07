import SubscriptionStore
import Testing

/// The digest by which a whole schema is known without a model of it.
@Suite struct `The schema's digest` {
    /// Where this fails, the schema was changed: the new value stands in the message.
    @Test func `is that of what the migrations make`() throws {
        let made = try SchemaDigest.made(byVersion: Migration.newest)
        #expect(made == SchemaDigest.newest, "\(made)")
    }

    @Test func `leaves a database whole that has tables and indexes of others`() throws {
        let database = try TemporaryDatabase()
        try database.execute("CREATE TABLE own (a TEXT); CREATE INDEX own_a ON own (a)")
        #expect(throws: Never.self) { _ = try database.open() }
        try database.execute("CREATE INDEX own_status ON subscriptions (status)")
        #expect(throws: Never.self) { _ = try database.open() }
    }
}
