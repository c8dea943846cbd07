/// How long our statements may take and wait beside the company's own.
///
/// Set in each transaction and not in the session: behind PgBouncer in transaction mode the next
/// transaction may run in another session.
package struct SessionLimits: Hashable, Sendable {
    /// One statement.
    package var statementMilliseconds = 30_000
    /// Waiting for a lock, such as that of a migration.
    package var lockMilliseconds = 2_000
    /// Between two statements: a paused process must not hold the company's rows.
    package var idleMilliseconds = 10_000
    /// How often a transaction is begun again that stood in another's way.
    package var attempts = 4
    /// The pauses before each further try at a server that has answered before.
    ///
    /// Half a minute in all, for a restart or a fail-over: a run whose books are there leaves no
    /// report without them.
    package var pausesMilliseconds: [UInt32] = [500, 1000, 2000, 4000, 8000, 16000]

    package init() {}

    /// Begins a transaction under these limits, whatever the server's or the user's defaults are.
    ///
    /// - Parameters:
    ///   - writes: Whether it may write.
    ///   - isSnapshot: Whether all its statements see the moment of the first.
    /// - Returns: Statements for one exchange.
    package func begin(writes: Bool, isSnapshot: Bool = false) -> String {
        """
        BEGIN ISOLATION LEVEL \(isSnapshot ? "REPEATABLE READ" : "READ COMMITTED")\(writes ? "" : " READ ONLY");
        SET LOCAL statement_timeout = \(statementMilliseconds);
        SET LOCAL lock_timeout = \(lockMilliseconds);
        SET LOCAL idle_in_transaction_session_timeout = \(idleMilliseconds);
        SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD';
        SET LOCAL standard_conforming_strings = on;
        SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1
        """
    }
}
