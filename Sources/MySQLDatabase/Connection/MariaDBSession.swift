#if MySQL
    import CMariaDB
    import Glibc
    package import ServerConnections
    package import Subscriptions
    import Synchronization

    /// A session over libmariadb.
    ///
    /// The library's own calls wait without limit where a server stops answering. So each returns
    /// whenever it would wait, and the socket is watched here.
    package final class MariaDBSession: MySQLSession {
        package let isMariaDB: Bool
        private let connection: Mutex<MariaDBConnection>

        /// Connects.
        ///
        /// - Parameters:
        ///   - address: Which server.
        ///   - limits: How long its statements may take and wait.
        ///   - patience: How long an answer is waited for.
        /// - Throws: Why no server answered, or why it refuses the user.
        package init(
            _ address: MySQLAddress, limits: MySQLLimits = MySQLLimits(),
            patience: ServerPatience = .ofProcess
        ) throws(MySQLFailure) {
            var opened = try MariaDBConnection(address, patience)
            isMariaDB = opened.isMariaDB
            for statement in limits.opening(onMariaDB: opened.isMariaDB) {
                try opened.execute(statement)
            }
            connection = Mutex(opened)
        }

        package func isUsed(for doing: String) {
            connection.withLock { $0.doing = doing }
        }

        package func run(
            _ sql: String, _ arguments: [CompanyLiteral]
        ) throws(MySQLFailure) -> MySQLRows {
            try connection.withLock { connection throws(MySQLFailure) in
                try connection.run(sql, arguments)
            }
        }

        package func execute(_ sql: String) throws(MySQLFailure) {
            try connection.withLock { connection throws(MySQLFailure) in
                try connection.execute(sql)
            }
        }
    }

    /// Owner of one connection of libmariadb; used by one thread at a time.
    @safe
    private struct MariaDBConnection: ~Copyable {
        private let handle: UnsafeMutablePointer<MYSQL>
        private let patience: ServerPatience
        private let server: String
        let isMariaDB: Bool
        /// To follow "for".
        var doing = "an answer"
        /// Statements that the server has prepared, by their text.
        private var prepared: [String: UnsafeMutablePointer<MYSQL_STMT>] = unsafe [:]
        private static let preparedAtMost = 40

        private static let isLibraryReady: Bool = mysql_server_init(0, nil, nil) == 0

        /// The longest pause between two looks for an answer or a signal.
        private static let longestPollMilliseconds: Int64 = 200

        init(
            _ address: MySQLAddress, _ patience: ServerPatience
        ) throws(MySQLFailure) {
            let password = try OptionFile.password(for: address)
            guard Self.isLibraryReady, let handle = unsafe mysql_init(nil) else {
                throw MySQLFailure(
                    .unavailable, endsSession: true, words: "no memory for a connection")
            }
            unsafe Self.set(address, on: handle)
            do throws(MySQLFailure) {
                try unsafe Self.connect(handle, address, password, patience)
            } catch {
                unsafe mysql_close(handle)
                throw error
            }
            unsafe self.handle = handle
            server = address.description
            self.patience = patience
            isMariaDB =
                unsafe mysql_get_server_info(handle).map { unsafe String(cString: $0) }?
                .contains("MariaDB") ?? false
        }

        deinit {
            // After its connection is closed, a statement is only memory.
            unsafe mysql_close(handle)
            for sql in unsafe Array(prepared.keys) {
                _ = unsafe mysql_stmt_close(prepared[sql])
            }
        }

        private static func set(_ address: MySQLAddress, on handle: UnsafeMutablePointer<MYSQL>) {
            _ = unsafe shim_wait_outside(handle)
            _ = unsafe shim_set_text(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4")
            // A server may else ask for any file of this machine.
            _ = unsafe shim_set_number(handle, MYSQL_OPT_LOCAL_INFILE, 0)
            // The library takes "localhost" for the socket, also where a port is named.
            if address.host != nil {
                _ = unsafe shim_set_number(
                    handle, MYSQL_OPT_PROTOCOL, MYSQL_PROTOCOL_TCP.rawValue)
            }
            guard address.isVerified else { return }
            _ = unsafe shim_set_flag(handle, MYSQL_OPT_SSL_ENFORCE, 1)
            _ = unsafe shim_set_flag(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, 1)
            for (option, value) in [
                (MYSQL_OPT_SSL_CA, address.authority), (MYSQL_OPT_SSL_CERT, address.certificate),
                (MYSQL_OPT_SSL_KEY, address.key),
            ] {
                if let value { _ = unsafe shim_set_text(handle, option, value) }
            }
        }

        private static func connect(
            _ handle: UnsafeMutablePointer<MYSQL>, _ address: MySQLAddress, _ password: String?,
            _ patience: ServerPatience
        ) throws(MySQLFailure) {
            // They must stay where they are until the server has answered.
            let texts = unsafe [
                address.host, address.user, password, address.database, address.socket,
            ].map { unsafe $0.flatMap { unsafe strdup($0) } }
            defer { for index in unsafe texts.indices { unsafe free(texts[index]) } }
            var opened: UnsafeMutablePointer<MYSQL>?
            let first = unsafe mysql_real_connect_start(
                &opened, handle, texts[0], texts[1], texts[2], texts[3], UInt32(address.port),
                texts[4], UInt(CLIENT_FOUND_ROWS))
            try unsafe wait(
                on: handle, patience, for: "\(address) (connecting)",
                usual: address.longestConnecting, first
            ) { unsafe mysql_real_connect_cont(&opened, handle, $0) }
            guard unsafe opened != nil else { throw unsafe failure(of: handle) }
        }

        // MARK: Statements

        mutating func execute(_ sql: String) throws(MySQLFailure) {
            guard let text = unsafe strdup(sql) else { throw Self.noMemory }
            defer { unsafe free(text) }
            let handle = unsafe self.handle
            var result: Int32 = 0
            try wait(
                unsafe mysql_real_query_start(&result, handle, text, UInt(sql.utf8.count))
            ) { unsafe mysql_real_query_cont(&result, handle, $0) }
            guard result == 0 else { throw unsafe Self.failure(of: handle) }
            guard unsafe mysql_field_count(handle) > 0 else { return }
            var rows: UnsafeMutablePointer<MYSQL_RES>?
            try wait(unsafe mysql_store_result_start(&rows, handle)) {
                unsafe mysql_store_result_cont(&rows, handle, $0)
            }
            guard let rows = unsafe rows else { throw unsafe Self.failure(of: handle) }
            unsafe mysql_free_result(rows)
        }

        mutating func run(
            _ sql: String, _ arguments: [CompanyLiteral]
        ) throws(MySQLFailure) -> MySQLRows {
            let statement = try unsafe statement(of: sql)
            do throws(MySQLFailure) {
                return try unsafe rows(of: statement, arguments)
            } catch {
                unsafe prepared[sql] = nil
                _ = unsafe mysql_stmt_close(statement)
                throw error
            }
        }

        /// The statement as the server has prepared it.
        private mutating func statement(
            of sql: String
        ) throws(MySQLFailure) -> UnsafeMutablePointer<MYSQL_STMT> {
            if let known = unsafe prepared[sql] { return unsafe known }
            if unsafe prepared.count >= Self.preparedAtMost {
                for sql in unsafe Array(prepared.keys) {
                    _ = unsafe mysql_stmt_close(prepared[sql])
                }
                unsafe prepared.removeAll()
            }
            guard let statement = unsafe mysql_stmt_init(handle), let text = unsafe strdup(sql)
            else { throw Self.noMemory }
            defer { unsafe free(text) }
            unsafe shim_measure_columns(statement)
            var result: Int32 = 0
            do throws(MySQLFailure) {
                try wait(
                    unsafe mysql_stmt_prepare_start(
                        &result, statement, text, UInt(sql.utf8.count))
                ) { unsafe mysql_stmt_prepare_cont(&result, statement, $0) }
                guard result == 0 else { throw unsafe Self.failure(of: statement) }
            } catch {
                _ = unsafe mysql_stmt_close(statement)
                throw error
            }
            unsafe prepared[sql] = statement
            return unsafe statement
        }

        private func rows(
            of statement: UnsafeMutablePointer<MYSQL_STMT>, _ arguments: [CompanyLiteral]
        ) throws(MySQLFailure) -> MySQLRows {
            guard unsafe mysql_stmt_param_count(statement) == UInt(arguments.count),
                let values = unsafe Self.values(of: arguments)
            else { throw Self.noMemory }
            defer { unsafe shim_free_values(values) }
            guard unsafe shim_bind_parameters(statement, values) == 0 else {
                throw unsafe Self.failure(of: statement)
            }
            var result: Int32 = 0
            try wait(unsafe mysql_stmt_execute_start(&result, statement)) {
                unsafe mysql_stmt_execute_cont(&result, statement, $0)
            }
            guard result == 0 else { throw unsafe Self.failure(of: statement) }
            var found = MySQLRows(
                affected: Int(clamping: unsafe mysql_stmt_affected_rows(statement)))
            guard unsafe mysql_stmt_field_count(statement) > 0 else { return found }
            try wait(unsafe mysql_stmt_store_result_start(&result, statement)) {
                unsafe mysql_stmt_store_result_cont(&result, statement, $0)
            }
            guard result == 0 else { throw unsafe Self.failure(of: statement) }
            defer { _ = unsafe mysql_stmt_free_result(statement) }
            found.rows = try unsafe Self.copy(of: statement)
            return found
        }

        private static func values(
            of arguments: [CompanyLiteral]
        ) -> UnsafeMutablePointer<shim_values>? {
            guard let values = unsafe shim_make_values(UInt32(arguments.count)) else { return nil }
            for (index, argument) in arguments.enumerated() {
                let place = UInt32(index)
                let isPut: Bool
                switch argument {
                case .null:
                    unsafe shim_put_null(values, place)
                    isPut = true
                case .integer(let number):
                    isPut = unsafe shim_put_number(values, place, number) == 1
                case .boolean(let truth):
                    isPut = unsafe shim_put_number(values, place, truth ? 1 : 0) == 1
                case .text(let text):
                    isPut = unsafe text.utf8CString.withUnsafeBufferPointer { bytes in
                        unsafe shim_put_text(
                            values, place, bytes.baseAddress, UInt(bytes.count - 1)) == 1
                    }
                }
                guard isPut else {
                    unsafe shim_free_values(values)
                    return nil
                }
            }
            return unsafe values
        }

        private static func copy(
            of statement: UnsafeMutablePointer<MYSQL_STMT>
        ) throws(MySQLFailure) -> [[String?]] {
            guard let row = unsafe shim_bind_result(statement) else { throw noMemory }
            defer { unsafe shim_free_values(row) }
            var copied: [[String?]] = []
            let count = unsafe row.pointee.count
            while true {
                let state = unsafe mysql_stmt_fetch(statement)
                if state == MYSQL_NO_DATA { return copied }
                // What is longer than its buffer would be cut without a word.
                guard state == 0 else { throw unsafe failure(of: statement) }
                copied.append(
                    (0..<count).map { column in
                        guard unsafe shim_is_null(row, column) == 0,
                            let bytes = unsafe shim_bytes(row, column)
                        else { return nil }
                        let all = unsafe UnsafeRawBufferPointer(
                            start: bytes, count: Int(shim_length(row, column)))
                        return unsafe String(decoding: all, as: UTF8.self)
                    })
            }
        }

        // MARK: Waiting

        private func wait(
            _ first: Int32, _ next: (Int32) -> Int32
        ) throws(MySQLFailure) {
            try unsafe Self.wait(
                on: handle, patience, for: "\(server) (\(doing))", usual: nil, first, next)
        }

        /// Waits until a call of the library is at its end.
        ///
        /// - Parameters:
        ///   - handle: Of which connection.
        ///   - patience: When to give up; a signal moves that forward.
        ///   - reason: Which server, and what it was asked for.
        ///   - usual: In place of the limit of a statement.
        ///   - first: What the call waits for; 0 where it is at its end.
        ///   - next: Continues it with what has happened, and returns the same.
        /// - Throws: Where it was given up: then the connection is cut.
        private static func wait(
            on handle: UnsafeMutablePointer<MYSQL>, _ patience: ServerPatience,
            for reason: String, usual: Duration?, _ first: Int32, _ next: (Int32) -> Int32
        ) throws(MySQLFailure) {
            guard first != 0 else { return }
            let begin = ContinuousClock.now
            let number = patience.begins(reason)
            var isGivenUp = false
            var state = first
            while state != 0 {
                let end = patience.end(ofWaitSince: begin, usual: usual)
                if !isGivenUp, ContinuousClock.now >= end {
                    isGivenUp = true
                    // The library then finds a connection that is lost.
                    _ = unsafe shutdown(mysql_get_socket(handle), Int32(SHUT_RDWR))
                }
                state = unsafe step(on: handle, state, until: end, next)
            }
            patience.ends(number, isAnswered: !isGivenUp)
            guard isGivenUp else { return }
            let seconds = Int(begin.duration(to: .now) / .seconds(1))
            throw MySQLFailure(
                patience.isStopped ? .stopped : .unavailable, endsSession: true,
                words: "no answer for \(seconds) s, so the session was given up")
        }

        /// Looks once for what the library waits for.
        private static func step(
            on handle: UnsafeMutablePointer<MYSQL>, _ state: Int32,
            until end: ContinuousClock.Instant, _ next: (Int32) -> Int32
        ) -> Int32 {
            let milliseconds = min(
                longestPollMilliseconds,
                max(1, Int64(ContinuousClock.now.duration(to: end) / .milliseconds(1))))
            var events: Int32 = 0
            if state & MYSQL_WAIT_READ != 0 { events |= POLLIN }
            if state & MYSQL_WAIT_WRITE != 0 { events |= POLLOUT }
            if state & MYSQL_WAIT_EXCEPT != 0 { events |= POLLPRI }
            var descriptor = pollfd(
                fd: unsafe mysql_get_socket(handle), events: Int16(events), revents: 0)
            // A connection that is lost is for every wait an answer.
            return unsafe poll(&descriptor, 1, Int32(milliseconds)) > 0 ? next(state) : state
        }

        // MARK: Failures

        private static let noMemory = MySQLFailure(
            .unavailable, endsSession: true, words: "no memory for a statement")

        private static func failure(of handle: UnsafeMutablePointer<MYSQL>) -> MySQLFailure {
            unsafe MySQLFailure(number: mysql_errno(handle), words: line(mysql_error(handle)))
        }

        private static func failure(of statement: UnsafeMutablePointer<MYSQL_STMT>) -> MySQLFailure
        {
            unsafe MySQLFailure(
                number: mysql_stmt_errno(statement), words: line(mysql_stmt_error(statement)))
        }

        /// A text of the library in one line.
        private static func line(_ text: UnsafePointer<CChar>?) -> String {
            guard let text = unsafe text else { return "no message" }
            return unsafe String(cString: text).split(whereSeparator: \.isNewline)
                .joined(separator: " ")
        }
    }
#endif
