import PostgresDatabase
import ServerConnections
import Synchronization

/// A session that answers as a test says, and remembers what it was asked.
final class ScriptedSession: ServerSession {
    private struct State {
        var asked: [String] = []
        var answer: @Sendable (String, Int) throws(ServerFailure) -> ServerRows
    }

    private let state: Mutex<State>

    /// - Parameter answer: By the statement, and by how often it was asked before.
    init(_ answer: @escaping @Sendable (String, Int) throws(ServerFailure) -> ServerRows) {
        state = Mutex(State(answer: answer))
    }

    /// The first words of what it was asked.
    var asked: [String] {
        state.withLock {
            $0.asked.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        }
    }

    func run(_ sql: String, _: [String?]) throws(ServerFailure) -> ServerRows { try answer(sql) }

    func script(_ sql: String) throws(ServerFailure) -> ServerRows { try answer(sql) }

    private func answer(_ sql: String) throws(ServerFailure) -> ServerRows {
        let (answer, before) = state.withLock { state in
            let before = state.asked.count { $0 == sql }
            state.asked.append(sql)
            return (state.answer, before)
        }
        return try answer(sql, before)
    }

    static func failure(_ state: String, ends: Bool = false) -> ServerFailure {
        ServerFailure(state: SQLState(state), endsSession: ends, words: "as the test says")
    }
}
