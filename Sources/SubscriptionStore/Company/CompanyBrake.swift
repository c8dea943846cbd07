import Foundation
package import Subscriptions
import Synchronization

/// Pauses a run between its units of work while the company's database is over a limit.
package final class CompanyBrake: Sendable {
    private struct State {
        var pauses = DatabasePauses()
        var mayContinue: @Sendable () -> Bool = { true }
        var tell: @Sendable (_ excess: String?) -> Void = { _ in }
    }

    package let limits: DatabaseBrake
    private let state = Mutex(State())

    /// Between two questions to the database.
    private static let interval = Duration.seconds(1)
    /// Between two looks for a signal.
    private static let shortPause = 0.1

    package init(_ limits: DatabaseBrake) { self.limits = limits }

    /// The pauses so far.
    package var pauses: DatabasePauses { state.withLock(\.pauses) }

    /// Connects it to the run.
    ///
    /// - Parameters:
    ///   - mayContinue: `false` once a signal or the deadline ends the run.
    ///   - tell: Called when a pause begins, with the limit that is exceeded, and when it ends, with
    ///     nothing.
    package func obey(
        whileAllowed mayContinue: @escaping @Sendable () -> Bool,
        tell: @escaping @Sendable (_ excess: String?) -> Void
    ) {
        state.withLock { state in
            state.mayContinue = mayContinue
            state.tell = tell
        }
    }

    /// Asks the database whether a limit is exceeded.
    ///
    /// - Parameter database: The company's; no transaction is open there.
    /// - Returns: The limit, in words; `nil` for none.
    /// - Throws: `StoreError.schema` where a limit cannot be asked for there.
    package func excess(in database: any CompanyDatabase) throws(StoreError) -> String? {
        var number: Double?
        if let query = limits.load?.query { number = try database.number(of: query) }
        let lag = limits.lagMilliseconds == nil ? nil : try database.replicationLag()
        return limits.excess(number: number, lag: lag)
    }

    /// Waits until no limit is exceeded any more, or the run is to end.
    ///
    /// - Returns: Whether no limit is exceeded.
    func wait(for database: any CompanyDatabase) throws(StoreError) -> Bool {
        guard let excess = try excess(in: database) else { return true }
        let (mayContinue, tell) = state.withLock { ($0.mayContinue, $0.tell) }
        let began = ContinuousClock.now
        state.withLock { $0.pauses.number += 1 }
        defer {
            let length = Int64(began.duration(to: .now) / .milliseconds(1))
            state.withLock { $0.pauses.milliseconds += length }
            tell(nil)
        }
        tell(excess)
        while mayContinue() {
            let next = ContinuousClock.now + Self.interval
            while ContinuousClock.now < next, mayContinue() {
                Thread.sleep(forTimeInterval: Self.shortPause)
            }
            if mayContinue(), try self.excess(in: database) == nil { return true }
        }
        return false
    }

    /// The pauses, in a sentence for a person; `nil` for none.
    var remark: String? {
        let pauses = pauses
        guard pauses.number > 0 else { return nil }
        let times = pauses.number == 1 ? "once" : "\(pauses.number) times"
        return
            "The run paused \(times), for \((pauses.milliseconds + 500) / 1000) s in all, because "
            + "your database was above `store.max_load` or `store.max_lag`."
    }
}

extension SQLiteStore {
    /// The pauses for the sake of the company's database; `nil` where no limit is set.
    package var databasePauses: DatabasePauses? { company?.brake?.pauses }

    /// Waits while the company's database is over a limit; a signal and the deadline end the wait.
    ///
    /// - Returns: Whether no limit is exceeded.
    /// - Throws: `StoreError.schema` where a limit cannot be asked for.
    package func waitForCompanyDatabase() async throws(StoreError) -> Bool {
        guard let company, let brake = company.brake else { return true }
        return try await blocking { () throws(StoreError) in try brake.wait(for: company.database) }
    }
}
