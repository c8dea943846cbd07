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

    /// As it stands in the settings.
    package var url: String {
        switch self {
        case .sqlite(let path): "sqlite:" + path
        }
    }
}

extension CompanySettings {
    /// Both settings belong together, and the books are a file of their own.
    ///
    /// - Parameters:
    ///   - url: What `store.url` names; in the end the books.
    ///   - directory: Where relative paths start.
    ///   - file: The settings file, for errors.
    mutating func settle(
        url path: inout String, in directory: String, file: String
    ) throws(ConfigurationError) {
        guard booksPath != nil || mapping != nil else { return }
        guard let books = booksPath else {
            throw ConfigurationError(
                file: file, line: nil, key: "store.books",
                problem: "is missing beside store.subscriptions",
                suggestion: "name the file for the job's own books: \"books: sqlite:books.sqlite\"")
        }
        guard mapping != nil else {
            throw ConfigurationError(
                file: file, line: nil, key: "store.books",
                problem: "stands without store.subscriptions",
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
        source = .sqlite(path)
        booksPath = resolved
        path = resolved
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
