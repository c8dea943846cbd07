import Foundation
package import SubscriptionStore
package import Subscriptions
import Synchronization

/// A server of books that keeps their rows in memory, and fails where a test says so.
package final class InMemoryBooksServer: BooksServer {
    /// What becomes of the next commit.
    package enum Fault: Sendable {
        /// Nothing is written.
        case refused
        /// It is written, and whoever asked for it does not learn it.
        case unanswered
    }

    private struct Books {
        var state: BooksState
        var isWhole = false
        var rows: [String: [[BooksValue]: [BooksValue]]] = [:]
    }

    private struct State {
        var books: [Books] = []
        var holder: String?
        var fault: Fault?
        var commits = 0
    }

    private let kept = Mutex(State())
    package let place = "memory"

    package init() {}

    /// Lets the next commit fail.
    package func failNext(_ fault: Fault) { kept.withLock { $0.fault = fault } }

    /// How often something was committed.
    package var commits: Int { kept.withLock(\.commits) }

    /// Somebody else has the books.
    package func hold(by holder: String?) { kept.withLock { $0.holder = holder } }

    /// A state to put back later, as a backup would.
    package func backup() -> @Sendable () -> Void {
        let books = kept.withLock(\.books)
        return { [self] in kept.withLock { $0.books = books } }
    }

    package func state() -> BooksState? {
        kept.withLock { $0.books.first(where: \.isWhole)?.state }
    }

    package func claim() throws(StoreError) {
        guard let holder = kept.withLock(\.holder) else { return }
        throw .busy("The books in memory are being written by \(holder).")
    }

    package func release() {}

    package func begin(identity: String, schema: Int) -> BooksState {
        kept.withLock { kept in
            let state = BooksState(
                number: (kept.books.map(\.state.number).max() ?? 0) + 1, identity: identity,
                generation: 0, transaction: UUID().uuidString, schema: schema)
            kept.books.append(Books(state: state))
            return state
        }
    }

    package func conclude(_ state: BooksState) {
        kept.withLock { kept in
            kept.books.removeAll { $0.state.number != state.number }
            for index in kept.books.indices { kept.books[index].isWhole = true }
        }
    }

    package func commit(
        _ changes: [BooksChange], to state: BooksState
    ) throws(StoreError) -> BooksState {
        try kept.withLock { kept throws(StoreError) in
            let fault = kept.fault
            kept.fault = nil
            guard fault == nil || fault == .unanswered else {
                throw .unavailable("The server in memory does not answer.")
            }
            guard let index = kept.books.firstIndex(where: { $0.state == state }) else {
                throw .busy("The books in memory were changed by another run.")
            }
            for change in changes {
                let table = change.table.name
                for key in change.deleted { kept.books[index].rows[table]?[key] = nil }
                for row in change.rows {
                    kept.books[index].rows[table, default: [:]][change.table.key(of: row)] = row
                }
            }
            var next = state
            next.generation &+= 1
            next.transaction = UUID().uuidString
            kept.books[index].state = next
            kept.commits += 1
            guard fault == nil else {
                throw .unavailable("The server in memory did not answer.")
            }
            return next
        }
    }

    package func reading<Value>(_ body: (any BooksReading) throws -> Value) throws -> Value {
        let books = kept.withLock { $0.books.first(where: \.isWhole) }
        return try body(Reading(state: books?.state, tables: books?.rows ?? [:]))
    }

    private struct Reading: BooksReading {
        let state: BooksState?
        let tables: [String: [[BooksValue]: [BooksValue]]]

        func rows(
            of table: BooksTable, after key: [BooksValue]?, limit: Int
        ) -> [[BooksValue]] {
            Array(
                (tables[table.name] ?? [:]).sorted { isLess($0.key, $1.key) }
                    .filter { entry in key.map { isLess($0, entry.key) } ?? true }
                    .prefix(limit).map(\.value))
        }
    }
}

/// As SQLite sorts numbers and texts.
private func isLess(_ one: [BooksValue], _ other: [BooksValue]) -> Bool {
    for (left, right) in zip(one, other) where left != right {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): return left < right
        case (.text(let left), .text(let right)):
            return left.utf8.lexicographicallyPrecedes(right.utf8)
        default: return "\(left)" < "\(right)"
        }
    }
    return false
}
