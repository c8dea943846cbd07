import EventDelivery
package import MySQLDatabase
package import PostgresDatabase
package import ProgramDatabase
import ServerConnections
package import Subscriptions

/// The company's own table, where the rows are not in trueup's.
package struct CompanySettings: Hashable, Sendable {
    /// Where `store.books` puts the job's own books.
    package var books: BooksPlace?
    /// Where the copy of books on a server is, on which a machine works.
    package var copyPath: String?
    /// The file of the books, or of the copy.
    package private(set) var booksPath: String?
    /// The name of the books on a server; `nil` where they are in a file.
    package private(set) var booksName: String?
    package var mapping: TableMapping?
    /// The table of one-time purchases there; the mapping has it too, once all is read.
    package var purchases: TableMapping?
    /// The table there in which entitlements are kept; the mapping has it too, once all is read.
    package var entitlements: CompanyTableName?
    /// The database that `store.url` names then.
    package var source: CompanySource?
    /// How long an answer of a store program is waited for; `nil` where the settings do not say.
    package var timeoutMilliseconds: Int64?
    /// The variables that a store program gets besides the harmless ones.
    package var variables: [String]?
    /// The load with which a run continues.
    package var maxLoad: LoadLimit?
    /// The greatest replication lag with which a run continues.
    package var lagMilliseconds: Int64?

    /// The limits above which a run pauses; `nil` for none.
    package var brake: DatabaseBrake? {
        guard maxLoad != nil || lagMilliseconds != nil else { return nil }
        return DatabaseBrake(load: maxLoad, lagMilliseconds: lagMilliseconds)
    }

    /// Both, where there is such a table.
    package var table: (source: CompanySource, mapping: TableMapping)? {
        guard let source, let mapping else { return nil }
        return (source, mapping)
    }
}

/// The database that holds the company's own table.
package enum CompanySource: Hashable, Sendable {
    /// The path of an SQLite file.
    case sqlite(String)
    case postgresql(PostgresAddress)
    case mysql(MySQLAddress)
    /// A program of the company's own, which reads and writes any other.
    case program(ProgramCommand)

    /// As it is in the settings.
    package var url: String {
        switch self {
        case .sqlite(let path): "sqlite:" + path
        case .postgresql(let address): "postgres://" + address.description
        case .mysql(let address): "mysql://" + address.description
        case .program(let command): command.url
        }
    }
}

extension CompanySettings {
    /// The file of the copy where the settings name none.
    package static let defaultCopy = "trueup-books.sqlite"

    /// These settings belong together, and the books are a file of their own.
    ///
    /// - Parameters:
    ///   - path: What `store.url` names; in the end the books.
    ///   - directory: Where relative paths start.
    ///   - file: The settings file, for errors.
    ///   - environment: Of which a store program gets a part.
    /// - Throws: 78 where one is without what it needs.
    mutating func complete(
        url path: inout String, in directory: String, file: String, environment: [String: String]
    ) throws(ConfigurationError) {
        try checkBrake(url: path, file: file)
        if ProgramCommand.isURL(path) {
            return try completeProgram(
                url: &path, in: directory, file: file, environment: environment)
        }
        let isOnServer = PostgresAddress.isURL(path) || MySQLAddress.isURL(path)
        try keepPurchases(file: file)
        try keepEntitlements(file: file)
        guard books != nil || copyPath != nil || mapping != nil || isOnServer else { return }
        if MySQLAddress.isURL(path), books == nil { books = .file(Self.defaultBooks) }
        let books = try place(besideServer: PostgresAddress.isURL(path), file: file)
        guard mapping != nil else {
            throw ConfigurationError(
                in: file, "store.subscriptions",
                isOnServer
                    ? "is missing next to a store.url of a database server"
                    : "is missing next to store.books",
                suggestion: isOnServer
                    ? "say how your table is read; docs/mappings/README.md"
                    : "say how your table is read, or leave store.books out; "
                        + "docs/mappings/README.md")
        }
        let resolved = SettingsPath.resolve(books, from: directory)
        guard resolved != path else {
            throw ConfigurationError(
                in: file, "store.books", "names the same file as store.url",
                suggestion: "name another file: trueup's database needs a file of its own")
        }
        // A link is another name of one file.
        guard !FileSystemFacts.isSameFile(resolved, path) else {
            throw ConfigurationError(
                in: file, "store.books", "is the same file as store.url under another name: a link",
                suggestion: "name another file: trueup's database needs a file of its own")
        }
        source = try Self.source(path, file: file)
        booksPath = resolved
        path = resolved
    }

    /// Refuses limits that cannot be asked for there.
    private func checkBrake(url: String, file: String) throws(ConfigurationError) {
        guard brake != nil else { return }
        let key = maxLoad == nil ? "store.max_lag" : "store.max_load"
        if ProgramCommand.isURL(url) {
            throw ConfigurationError(
                in: file, key, "cannot be used with a store program",
                suggestion: "leave it out: the program may wait before it answers")
        }
        let isOnServer = PostgresAddress.isURL(url) || MySQLAddress.isURL(url)
        if !isOnServer, mapping == nil {
            throw ConfigurationError(
                in: file, key, "needs a table of your own in store.subscriptions",
                suggestion: "leave it out: trueup's own file has no other load")
        }
        if !isOnServer, lagMilliseconds != nil {
            throw ConfigurationError(
                in: file, "store.max_lag", "cannot be used with a file, which has no replicas",
                suggestion: "leave it out")
        }
    }

    /// trueup's database beside a store program or MySQL, where the settings name none.
    private static let defaultBooks = "trueup.sqlite"
    private static let namedFile =
        "name the file for trueup's own database: \"books: sqlite:books.sqlite\""

    /// A program says itself which columns it keeps; until it does, that may be any.
    private mutating func completeProgram(
        url path: inout String, in directory: String, file: String, environment: [String: String]
    ) throws(ConfigurationError) {
        let needless: [(key: String, isWritten: Bool, suggestion: String)] = [
            (
                "store.subscriptions", mapping != nil,
                "leave it out: the program names its columns by trueup's names"
            ),
            (
                "store.purchases", purchases != nil,
                "leave it out: import them with trueup import --purchases; they are reported and "
                    + "never corrected"
            ),
            (
                "store.entitlements", entitlements != nil,
                "leave it out: your services read trueup_entitlements in trueup's database"
            ),
            ("store.copy", copyPath != nil, "leave it out: trueup's database is a file"),
        ]
        for (key, isWritten, suggestion) in needless where isWritten {
            throw ConfigurationError(
                in: file, key, "cannot be used with a store program",
                suggestion: suggestion)
        }
        let command = try command(path, in: directory, file: file, environment: environment)
        switch books {
        case .server:
            throw ConfigurationError(
                in: file, "store.books", "is on a server, and store.url names none",
                suggestion: Self.namedFile)
        case .file(let written):
            guard !Self.isElsewhere(written) else {
                throw ConfigurationError(
                    in: file, "store.books", "must be a file",
                    suggestion: Self.namedFile)
            }
            path = SettingsPath.resolve(written, from: directory)
        case nil: path = SettingsPath.resolve(Self.defaultBooks, from: directory)
        }
        booksPath = path
        mapping = .ofProgram(named: command.url)
        source = .program(command)
    }

    /// The program of a URL, as it is started for these settings.
    ///
    /// - Parameters:
    ///   - url: Its `store.url`.
    ///   - directory: The folder in which it is started.
    ///   - file: The settings file, for errors.
    ///   - environment: Of which it gets a part.
    /// - Returns: The program.
    /// - Throws: 78 where that cannot be.
    func command(
        _ url: String, in directory: String, file: String, environment: [String: String]
    ) throws(ConfigurationError) -> ProgramCommand {
        var command: ProgramCommand
        do throws(ProgramCommand.Problem) {
            command = try ProgramCommand(url: url)
        } catch {
            throw ConfigurationError(
                in: file, "store.url", error.problem, suggestion: error.suggestion)
        }
        command.directory = directory
        if let timeoutMilliseconds {
            guard timeoutMilliseconds >= 1000 else {
                throw ConfigurationError(in: file, "store.timeout", "must be at least 1s")
            }
            command.timeoutMilliseconds = timeoutMilliseconds
        }
        command.environment = ChildProcess.handedOn(environment)
        for name in variables ?? [] {
            // Missed when the program is started: commands that only look need none.
            if environment[name] == nil { command.missingVariable = name }
            command.environment[name] = environment[name]
        }
        return command
    }

    /// Names the table of purchases to the mapping, next to whose table it is.
    private mutating func keepPurchases(file: String) throws(ConfigurationError) {
        guard let purchases else { return }
        let key = "store.purchases"
        guard let mapping else {
            throw ConfigurationError(
                in: file, key, "needs store.subscriptions",
                suggestion:
                    "leave it out: purchases are in trueup's own table, as subscriptions are")
        }
        guard mapping.table != purchases.table else {
            throw ConfigurationError(
                in: file, key, "names the table of store.subscriptions",
                suggestion: "name a table of its own")
        }
        self.mapping?.purchases = purchases
    }

    /// Names the table of entitlements to the mapping, next to whose table it is.
    private mutating func keepEntitlements(file: String) throws(ConfigurationError) {
        guard let entitlements else { return }
        let key = "store.entitlements"
        guard let mapping else {
            throw ConfigurationError(
                in: file, key, "needs store.subscriptions",
                suggestion:
                    "leave it out: your services read trueup_entitlements in trueup's database")
        }
        for (table, setting) in [
            (mapping.table, "store.subscriptions"), (purchases?.table, "store.purchases"),
        ] where table == entitlements {
            throw ConfigurationError(
                in: file, key, "names the table of \(setting)",
                suggestion: "name a table of its own")
        }
        guard mapping.columns[.subscription(.customerID)] != nil else {
            throw ConfigurationError(
                in: file, key, "needs customer_id in store.subscriptions.columns",
                suggestion: "map it: an entitlement belongs to a customer")
        }
        self.mapping?.entitlements = entitlements
    }

    /// The file of the books, or of their copy, as the settings name it.
    private mutating func place(
        besideServer isOnServer: Bool, file: String
    ) throws(ConfigurationError) -> String {
        switch books {
        case .file(let path) where !Self.isElsewhere(path):
            guard copyPath == nil else {
                throw ConfigurationError(
                    in: file, "store.copy", "cannot be used where trueup's database is a file",
                    suggestion: "leave store.copy out, or put trueup's database on the server: "
                        + "\"books: postgres:\(BooksPlace.defaultName)\"")
            }
            return path
        case .file:
            throw ConfigurationError(
                in: file, "store.books", "must not be another server",
                suggestion: isOnServer
                    ? "\"books: postgres:\(BooksPlace.defaultName)\" puts trueup's database next to "
                        + "your table; or " + Self.namedFile
                    : Self.namedFile)
        case .server(let name) where isOnServer: booksName = name
        case .server:
            throw ConfigurationError(
                in: file, "store.books", "is on a server, and store.url names none of PostgreSQL",
                suggestion: Self.namedFile)
        case nil:
            guard isOnServer else {
                throw ConfigurationError(
                    in: file, "store.books",
                    mapping == nil
                        ? "is missing next to store.copy"
                        : "is missing next to store.subscriptions",
                    suggestion: Self.namedFile)
            }
            booksName = BooksPlace.defaultName
        }
        return copyPath ?? Self.defaultCopy
    }
}

extension CompanySettings {
    /// Whether a URL of `store.url` names something else than a file.
    static func isElsewhere(_ url: String) -> Bool {
        PostgresAddress.isURL(url) || MySQLAddress.isURL(url) || ProgramCommand.isURL(url)
    }

    /// Returns the meaning of a URL of `store.url`; relative paths are resolved already.
    static func source(
        _ url: String, file: String
    ) throws(ConfigurationError) -> CompanySource {
        try source(url) { ConfigurationError(in: file, "store.url", $0, suggestion: $1) }
    }

    /// - Throws: The error that `refusal` makes of a problem and a suggestion.
    static func source(
        _ url: String, refusal: (String, String) -> ConfigurationError
    ) throws(ConfigurationError) -> CompanySource {
        if ProgramCommand.isURL(url) {
            do throws(ProgramCommand.Problem) {
                return .program(try ProgramCommand(url: url))
            } catch {
                throw refusal(error.problem, error.suggestion)
            }
        }
        guard PostgresAddress.isURL(url) || MySQLAddress.isURL(url) else { return .sqlite(url) }
        do throws(ServerURL.Problem) {
            return MySQLAddress.isURL(url)
                ? .mysql(try MySQLAddress(url: url)) : .postgresql(try PostgresAddress(url: url))
        } catch {
            throw refusal(error.problem, error.suggestion)
        }
    }
}

extension ConfigurationError {
    /// About a key that does not fit to others, which is no matter of its line.
    fileprivate init(
        in file: String, _ key: String, _ problem: String, suggestion: String? = nil
    ) {
        self.init(file: file, key: key, problem: problem, suggestion: suggestion)
    }
}

extension TableMapping {
    /// The part that the settings digest covers.
    ///
    /// Without purchases it is as before there were any, so that what an earlier version began continues.
    var digested: CanonicalJSON {
        var members: [String: CanonicalJSON] = [
            "table": .string(table.description),
            "columns": .object(
                columns.reduce(into: [:]) { $0[$1.key.name] = $1.value.digested }),
            "words": .object((statusWords?.numbers ?? [:]).mapValues(CanonicalJSON.integer)),
            "written": .object(
                (statusWords?.written ?? [:]).reduce(into: [:]) {
                    $0[String($1.key)] = .string($1.value)
                }),
            "environments": .object((environmentWords ?? [:]).mapValues(CanonicalJSON.string)),
            "version": .text(versionColumn), "latest_by": .text(latestBy),
            "insert": inserts.map { .object($0.mapValues { .string("\($0)") }) } ?? .null,
        ]
        if let purchases { members["purchases"] = purchases.digested }
        return .object(members)
    }
}

extension MappedColumn {
    fileprivate var digested: CanonicalJSON {
        switch self {
        case .column(let name, let form): .array([.string(name), .string("\(form)")])
        case .member(of: let name, let path, let form):
            .array([.string(name), .string("\(form)")] + path.map(CanonicalJSON.string))
        case .constant(let text): .object(["constant": .string(text)])
        }
    }
}

/// Where `store.books` puts the job's own books next to a table of the company's.
package enum BooksPlace: Hashable, Sendable {
    /// In an SQLite file.
    case file(String)
    /// In the schema `trueup` of the server of `store.url`, under a name.
    case server(name: String)

    /// The name of the books where the settings give none.
    package static let defaultName = "main"
}

extension SettingForm where Value == BooksPlace {
    private static var nameBytes: Set<UInt8> { Set<UInt8>.asciiLettersAndDigits.union("-_.".utf8) }

    static var booksPlace: SettingForm {
        SettingForm(
            "`sqlite:` and a path, or `postgres:` and a name", display: .store,
            examples: ["sqlite:books.sqlite"],
            read: { value throws(ConfigurationError) in
                let text = try value.text("sqlite:FILE or postgres:NAME")
                guard text.hasPrefix("postgres:") else {
                    return .file(try SettingForm<String>.storeURL.read(value))
                }
                let name = String(text.dropFirst("postgres:".count))
                guard (1...63).contains(name.utf8.count), name.utf8.allSatisfy(nameBytes.contains)
                else {
                    throw value.error(
                        "must name trueup's database by letters, digits, \"-\", \"_\" and \".\"",
                        suggestion: "write for example postgres:main, or sqlite:books.sqlite; the "
                            + "server is that of store.url")
                }
                return .server(name: name)
            },
            written: { place in
                switch place {
                case .file(let path): "sqlite:" + path
                case .server(let name): "postgres:" + name
                }
            })
    }
}

extension SettingForm where Value == LoadLimit {
    /// A statement that writes is refused here, and by a reading transaction.
    static var loadLimit: SettingForm {
        let example = "{query: \"SELECT count(*) FROM jobs WHERE state = 'running'\", limit: 20}"
        return SettingForm(
            "`query`, which begins with `SELECT` or `SHOW` and returns one number, and `limit`",
            schema: SettingsSchema.anyMembers, examples: [example],
            read: { value throws(ConfigurationError) in
                let mapping = try value.mapping(keys: ["query", "limit"])
                let query = try mapping.required("query", example: "SELECT …")
                let text = try query.text("a query")
                guard ["SELECT", "SHOW"].contains(text.prefix { $0.isLetter }.uppercased()) else {
                    throw query.error("must begin with SELECT or SHOW")
                }
                let limit = try mapping.required("limit", example: "20").decimal("a number")
                return LoadLimit(query: text, limit: limit)
            })
    }
}
