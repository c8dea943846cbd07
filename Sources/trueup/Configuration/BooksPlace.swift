import PostgresDatabase

/// Where `store.books` puts the job's own books beside a table of the company's.
package enum BooksPlace: Hashable, Sendable {
    /// In an SQLite file.
    case file(String)
    /// In the schema `trueup` of the server of `store.url`, under a name.
    case server(name: String)

    /// The name of the books where the settings give none.
    package static let defaultName = "main"
}

extension SettingForm where Value == BooksPlace {
    static var booksPlace: SettingForm {
        SettingForm(
            "`sqlite:` and a path, or `postgres:` and a name", examples: ["sqlite:books.sqlite"],
            read: { value throws(ConfigurationError) in
                let text = try value.text("sqlite:FILE or postgres:NAME")
                guard text.hasPrefix("postgres:") else {
                    return .file(try SettingForm<String>.storeURL.read(value))
                }
                let name = String(text.dropFirst("postgres:".count))
                guard (1...63).contains(name.utf8.count), name.utf8.allSatisfy(isOfName) else {
                    throw value.error(
                        "must name the books by letters, digits, \"-\", \"_\" and \".\"",
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

private func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: "."):
        true
    default: false
    }
}
