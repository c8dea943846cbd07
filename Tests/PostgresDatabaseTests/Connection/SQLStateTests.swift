import PostgresDatabase
import ServerConnections
import Subscriptions
import Testing

@Suite struct `An error of a server` {
    private func status(_ state: String, endsSession: Bool = false) throws
        -> Subscriptions.ExitStatus
    {
        StoreError(
            ServerFailure(state: SQLState(state), endsSession: endsSession, words: "words"),
            doing: "testing", at: try PostgresAddress(url: "postgres://localhost/x")
        ).exitStatus
    }

    @Test(arguments: [
        ("", Subscriptions.ExitStatus.unavailable), ("08006", .unavailable),
        ("28P01", .unavailable),
        ("57P01", .unavailable), ("53300", .unavailable), ("25006", .unavailable),
        ("55P03", .busy), ("57014", .busy), ("40001", .busy), ("40P01", .busy),
        ("42P01", .config), ("42703", .config), ("42501", .config), ("3D000", .config),
        ("53100", .output), ("58030", .output), ("22P02", .internal), ("XX000", .internal),
    ])
    func `ends a command by its state`(state: String, expected: Subscriptions.ExitStatus) throws {
        #expect(try status(state) == expected)
    }

    @Test(arguments: [
        ("FATAL:  unsupported startup parameter: options", "ignore_startup_parameters"),
        ("FATAL:  unsupported startup parameter in options: geqo", "PGOPTIONS"),
        ("transaction blocks not allowed in statement pooling mode", "pool_mode = transaction"),
    ])
    func `of PgBouncer that no repetition fixes says what to change`(
        words: String, advice: String
    ) throws {
        let address = try PostgresAddress(url: "postgres://localhost/x")
        for state in ["", "08P01"] {
            let error = StoreError(
                ServerFailure(state: SQLState(state), endsSession: true, words: words),
                doing: "connecting", at: address)
            #expect(error.exitStatus == .config)
            #expect(error.description.contains(advice), "\(error)")
            #expect(error.description.contains(words))
        }
        // A company's trigger may say such words; then the session goes on.
        let other = StoreError(
            ServerFailure(state: SQLState("P0001"), words: words), doing: "testing", at: address)
        #expect(!other.description.contains("PgBouncer"))
    }

    @Test func `that ended the session means that no server answers`() throws {
        #expect(try status("XX000", endsSession: true) == .unavailable)
    }

    @Test(arguments: [
        ("55000", true), ("0A000", true), ("XX000", true), ("42P01", true), ("428C9", true),
        ("25006", true), ("P0001", true), ("38000", true), ("08001", true), ("57P03", true),
        ("55P03", false), ("57014", false), ("40001", false), ("40P01", false), ("53100", false),
        ("53200", false), ("58030", false), ("25P02", false), ("", false),
    ])
    func `of a write is that of its row, or of the server`(state: String, isOfRow: Bool) {
        #expect(SQLState(state).mayBeOfOneRow == isOfRow)
    }
}
