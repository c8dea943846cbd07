package import Subscriptions

/// Opens sessions with a server; a build without the trait `PostgreSQL` opens none.
package struct PostgresConnector: Sendable {
    package let address: PostgresAddress
    /// How long its sessions wait for answers.
    let patience: ServerPatience
    private let open: @Sendable () throws(ServerFailure) -> any ServerSession

    /// - Parameters:
    ///   - address: Which server, for messages.
    ///   - patience: How long its sessions wait for answers.
    ///   - open: Opens a session.
    package init(
        _ address: PostgresAddress, patience: ServerPatience = .ofProcess,
        open: @escaping @Sendable () throws(ServerFailure) -> any ServerSession
    ) {
        self.address = address
        self.patience = patience
        self.open = open
    }

    /// Whether this build has libpq.
    package static var isBuiltIn: Bool {
        #if PostgreSQL
            true
        #else
            false
        #endif
    }

    /// What to do about a build that has no libpq.
    package static let installation =
        "install the package trueup-postgresql, or build with `swift build --traits PostgreSQL` "
        + "(docs/postgresql.md)"

    /// Opens sessions over libpq.
    ///
    /// - Parameter address: Which server.
    /// - Returns: What connects to it.
    /// - Throws: `StoreError` in a build that has no libpq.
    package static func libpq(_ address: PostgresAddress) throws(StoreError) -> PostgresConnector {
        #if PostgreSQL
            PostgresConnector(address) { () throws(ServerFailure) in try LibpqSession(address) }
        #else
            throw .schema(
                "store.url names a PostgreSQL database, and this trueup was built without it. "
                    + "Nothing was read or written: \(installation).")
        #endif
    }

    /// Connects.
    ///
    /// - Returns: A session, which ends when nobody has it any more.
    /// - Throws: `StoreError.unavailable` where nobody answers or nobody is let in.
    package func connect() throws(StoreError) -> any ServerSession {
        do throws(ServerFailure) {
            return try open()
        } catch {
            throw StoreError(error, doing: "connecting", at: address)
        }
    }
}
