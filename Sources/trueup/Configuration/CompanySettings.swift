package import PostgresDatabase
package import Subscriptions

/// The company's own table, where the rows do not stand in ours.
package struct CompanySettings: Hashable, Sendable {
    /// Where `store.books` puts the job's own books.
    package var booksPath: String?
    package var mapping: TableMapping?
    /// What `store.url` names then.
    package var source: CompanySource?

    package init() {}

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

    /// As it stands in the settings.
    package var url: String {
        switch self {
        case .sqlite(let path): "sqlite:" + path
        case .postgresql(let address): "postgres://" + address.description
        }
    }
}

extension CompanySettings {
    /// Both settings belong together, and the books are a file of their own.
    ///
    /// - Parameters:
    ///   - path: What `store.url` names; in the end the books.
    ///   - directory: Where relative paths start.
    ///   - file: The settings file, for errors.
    /// - Throws: 78 where one stands without the other.
    mutating func complete(
        url path: inout String, in directory: String, file: String
    ) throws(ConfigurationError) {
        guard booksPath != nil || mapping != nil || PostgresAddress.isURL(path) else { return }
        guard let books = booksPath, !PostgresAddress.isURL(books) else {
            throw ConfigurationError(
                file: file, line: nil, key: "store.books",
                problem: booksPath != nil
                    ? "must be an SQLite file"
                    : mapping == nil
                        ? "is missing beside a store.url of PostgreSQL"
                        : "is missing beside store.subscriptions",
                suggestion: "name the file for the job's own books: \"books: sqlite:books.sqlite\"")
        }
        guard mapping != nil else {
            throw ConfigurationError(
                file: file, line: nil, key: "store.subscriptions",
                problem: "is missing beside store.books",
                suggestion: "say how your table is read, or leave store.books out; "
                    + "docs/mappings/README.md")
        }
        let resolved = SettingsPath.resolve(books, from: directory)
        guard resolved != path else {
            throw ConfigurationError(
                file: file, line: nil, key: "store.books",
                problem: "names the same file as store.url",
                suggestion: "the books are a file of their own")
        }
        // A link is another name of one file.
        guard !FileSystemFacts.isSameFile(resolved, path) else {
            throw ConfigurationError(
                file: file, line: nil, key: "store.books",
                problem: "is the same file as store.url under another name: a link",
                suggestion: "the books are a file of their own")
        }
        source = try Self.source(path, file: file)
        booksPath = resolved
        path = resolved
    }
}

extension CompanySettings {
    /// What a URL of `store.url` means; relative paths are resolved already.
    static func source(
        _ url: String, file: String
    ) throws(ConfigurationError) -> CompanySource {
        guard PostgresAddress.isURL(url) else { return .sqlite(url) }
        do throws(PostgresAddress.Problem) {
            return .postgresql(try PostgresAddress(url: url))
        } catch {
            throw ConfigurationError(
                file: file, line: nil, key: "store.url", problem: error.problem,
                suggestion: error.suggestion)
        }
    }
}

extension TableMapping {
    /// What the settings digest covers.
    var digested: CanonicalJSON {
        .object([
            "table": .string(table.description),
            "columns": .object(
                columns.reduce(into: [:]) { $0[$1.key.rawValue] = $1.value.digested }),
            "words": .object((statusWords?.numbers ?? [:]).mapValues(CanonicalJSON.integer)),
            "written": .object(
                (statusWords?.written ?? [:]).reduce(into: [:]) {
                    $0[String($1.key)] = .string($1.value)
                }),
            "environments": .object((environmentWords ?? [:]).mapValues(CanonicalJSON.string)),
            "version": .text(versionColumn), "latest_by": .text(latestBy),
            "insert": inserts.map { .object($0.mapValues { .string("\($0)") }) } ?? .null,
        ])
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
