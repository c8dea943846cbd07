#if PostgreSQL
    import CPostgres
    import Synchronization

    /// A session over libpq.
    package final class LibpqSession: ServerSession {
        private let connection: Mutex<LibpqConnection>

        /// Connects.
        ///
        /// - Parameter address: Which server; a password comes from where libpq looks for one.
        /// - Throws: Why nobody answered, or why the server lets nobody in.
        package init(_ address: PostgresAddress) throws(ServerFailure) {
            connection = Mutex(try LibpqConnection(address))
        }

        package func run(
            _ sql: String, _ parameters: [String?]
        ) throws(ServerFailure) -> ServerRows {
            try connection.withLock { connection throws(ServerFailure) in
                try connection.run(sql, parameters)
            }
        }

        package func script(_ sql: String) throws(ServerFailure) -> ServerRows {
            try connection.withLock { connection throws(ServerFailure) in
                try connection.script(sql)
            }
        }
    }

    /// Owner of one connection of libpq; used by one thread at a time.
    @safe
    private struct LibpqConnection: ~Copyable {
        private let handle: OpaquePointer

        init(_ address: PostgresAddress) throws(ServerFailure) {
            let pairs = address.parameters.sorted { $0.key < $1.key }
            let handle = unsafe Self.withStrings(pairs.map { Optional($0.key) }) { keywords in
                unsafe Self.withStrings(pairs.map { Optional($0.value) }) { values in
                    unsafe PQconnectdbParams(keywords, values, 0)
                }
            }
            guard let handle = unsafe handle else {
                throw ServerFailure(
                    state: SQLState(""), endsSession: true, words: "no memory for a connection")
            }
            guard unsafe PQstatus(handle) == CONNECTION_OK else {
                let words = unsafe Self.line(PQerrorMessage(handle))
                unsafe PQfinish(handle)
                throw ServerFailure(state: SQLState(""), endsSession: true, words: words)
            }
            unsafe shim_keep_quiet(handle)
            unsafe self.handle = handle
        }

        deinit { unsafe PQfinish(handle) }

        func run(_ sql: String, _ parameters: [String?]) throws(ServerFailure) -> ServerRows {
            guard !parameters.contains(where: { $0?.utf8.contains(0) == true }),
                let count = Int32(exactly: parameters.count)
            else {
                throw ServerFailure(
                    state: SQLState("22021"), words: "a value holds a byte that no text may hold")
            }
            let result = unsafe Self.withStrings(parameters) { values in
                unsafe PQexecParams(handle, sql, count, nil, values, nil, nil, 0)
            }
            return try unsafe rows(of: result)
        }

        func script(_ sql: String) throws(ServerFailure) -> ServerRows {
            try unsafe rows(of: PQexec(handle, sql))
        }

        private func rows(of result: OpaquePointer?) throws(ServerFailure) -> ServerRows {
            guard let result = unsafe result else {
                throw ServerFailure(
                    state: SQLState(""), endsSession: unsafe PQstatus(handle) != CONNECTION_OK,
                    words: unsafe Self.line(PQerrorMessage(handle)))
            }
            defer { unsafe PQclear(result) }
            switch unsafe PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                return unsafe Self.copy(of: result)
            default:
                throw unsafe failure(of: result)
            }
        }

        private func failure(of result: OpaquePointer) -> ServerFailure {
            let state = unsafe shim_sql_state(result).map { unsafe String(cString: $0) } ?? ""
            // What has no state is libpq's own: where a server says that it shuts down and closes, libpq
            // calls the connection good until it is used once more.
            let isOver = unsafe PQstatus(handle) != CONNECTION_OK || state.isEmpty
            let words =
                unsafe shim_primary_message(result).map { unsafe Self.line($0) }
                ?? (unsafe Self.line(PQerrorMessage(handle)))
            return ServerFailure(
                state: SQLState(state), endsSession: isOver,
                words: Self.withoutValues(words, state: state))
        }

        private static func copy(of result: OpaquePointer) -> ServerRows {
            let (rows, columns) = unsafe (PQntuples(result), PQnfields(result))
            var copied = ServerRows(
                affected: Int(unsafe String(cString: PQcmdTuples(result))) ?? 0,
                tag: unsafe String(cString: PQcmdStatus(result)))
            copied.rows.reserveCapacity(Int(rows))
            for row in 0..<max(0, rows) {
                copied.rows.append(
                    (0..<max(0, columns)).map { column in
                        guard unsafe PQgetisnull(result, row, column) == 0,
                            let value = unsafe PQgetvalue(result, row, column)
                        else { return nil }
                        return unsafe String(cString: value)
                    })
            }
            return copied
        }

        /// A text of libpq in one line.
        private static func line(_ text: UnsafePointer<CChar>?) -> String {
            guard let text = unsafe text else { return "no message" }
            return unsafe String(cString: text).split(whereSeparator: \.isNewline)
                .joined(separator: " ")
        }

        /// Errors about a value repeat it behind their first quotation mark.
        private static func withoutValues(_ words: String, state: String) -> String {
            guard state.hasPrefix("22") else { return words }
            return String(words.prefix { $0 != "\"" })
        }

        /// Lends C strings, ended by a null pointer, for the time of a call.
        private static func withStrings<Value>(
            _ texts: [String?], _ use: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value
        ) -> Value {
            var owned: [UnsafeMutablePointer<CChar>?] = unsafe texts.map { text in
                unsafe text.flatMap { text in
                    let bytes = Array(text.utf8CString)
                    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
                    unsafe copy.initialize(from: bytes, count: bytes.count)
                    return unsafe copy
                }
            }
            defer { for index in unsafe owned.indices { unsafe owned[index]?.deallocate() } }
            unsafe owned.append(nil)
            let lent = unsafe owned.map { unsafe UnsafePointer($0) }
            return unsafe lent.withUnsafeBufferPointer { unsafe use($0.baseAddress) }
        }
    }
#endif
