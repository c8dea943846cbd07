import FoundationEssentials
import Subscriptions
import Yams

/// `store.subscriptions` and `store.purchases`, read and checked.
extension TableMapping {
    private static let keys = ["table", "columns", "version", "insert"]
    private static let keysOfSubscriptions = keys + ["status", "latest_by"]

    init(_ kind: MappedTable, _ value: SettingsValue) throws(ConfigurationError) {
        let mapping = try value.mapping(
            keys: kind == .subscriptions ? Self.keysOfSubscriptions : Self.keys)
        let table = try CompanyTableName(mapping.required("table", example: kind.rawValue))
        let columns = try Self.columns(
            of: kind, mapping.required("columns", example: "{\(kind.identifier.name): id, …}"))
        var words: StatusWords?
        var all = columns
        if let status = mapping.value("status") {
            guard columns[.status] == nil else {
                throw status.error(
                    "is in store.subscriptions.columns as well", suggestion: "keep one of them")
            }
            let read = try status.status()
            all[.status] = read.column
            words = read.words
        }
        if kind == .subscriptions, all[.status] == nil {
            throw mapping.error(
                "status", "is missing",
                suggestion: "name the column with its words: "
                    + "\"status: {column: status, words: {active: 1, expired: 2}}\"")
        }
        for field in kind.key where all[field] == nil {
            throw mapping.error(
                "columns", "has no \(field.name)",
                suggestion: "name its column, or write \"\(field.name): {constant: …}\"")
        }
        for field in [MappedField.purchase(.purchaseDate), .purchase(.revocationDate)]
        where kind == .purchases && all[field] == nil {
            throw mapping.error(
                "columns", "has no \(field.name), by which purchases are checked",
                suggestion: "name the column with that date")
        }
        self.init(kind, table: table, columns: all, statusWords: words)
        environmentWords = try mapping.value("columns")?.member("environment", of: kind)?
            .environmentWords()
        versionColumn = try mapping.value("version")?.columnName()
        if kind == .subscriptions { latestBy = try mapping.value("latest_by")?.columnName() }
        inserts = try mapping.value("insert")?.inserts()
        try refuseDoubles(value)
    }

    private static func columns(
        of kind: MappedTable, _ value: SettingsValue
    ) throws(ConfigurationError) -> [MappedField: MappedColumn] {
        let mapping = try value.mapping(keys: kind.fields.map(\.name))
        var columns: [MappedField: MappedColumn] = [:]
        for field in kind.fields {
            guard let value = mapping.value(field.name) else { continue }
            columns[field] = try value.column(of: field, in: kind)
        }
        guard case .column? = columns[kind.identifier] else {
            throw mapping.error(
                kind.identifier.name, "must be a column of the table",
                suggestion: "write \"\(kind.identifier.name): otid\"")
        }
        return columns
    }

    /// One column of the company's cannot be two of trueup's.
    private func refuseDoubles(_ value: SettingsValue) throws(ConfigurationError) {
        var seen: Set<String> = []
        let named =
            read.compactMap { $0.column.isWritable ? $0.column.name : nil }
            + [versionColumn].compactMap(\.self) + (inserts ?? [:]).keys.sorted()
        for name in named where !seen.insert(name).inserted {
            throw value.error(
                "names the column \(name) twice", suggestion: "each column has one meaning")
        }
    }
}

extension CompanyTableName {
    init(_ value: SettingsValue) throws(ConfigurationError) {
        let parts = try value.text("a table or view").split(
            separator: ".", omittingEmptySubsequences: false
        ).map(String.init)
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty }),
            let name = parts.last
        else { throw value.error("must be TABLE or SCHEMA.TABLE") }
        self.init(schema: parts.count == 2 ? parts[0] : nil, name: name)
    }
}

extension SettingsValue {
    /// The name of a column of the company's.
    fileprivate func columnName() throws(ConfigurationError) -> String {
        try text("the name of a column")
    }

    /// `NAME`, `{column: NAME, form: FORM}`, with `path` into a JSON column, or `{constant: TEXT}`.
    fileprivate func column(
        of field: MappedField, in kind: MappedTable
    ) throws(ConfigurationError) -> MappedColumn {
        guard case .mapping = node else {
            guard field.form != .time else {
                throw error(
                    "does not say in which form the time is stored",
                    suggestion: "write \"{column: \(try columnName()), form: timestamptz}\"; forms "
                        + "of times: \(FormWord.ofTimes)")
            }
            return .column(try columnName(), field.form == .text ? .text : .integer)
        }
        let mapping = try mapping(keys: ["column", "form", "zone", "path", "constant", "words"])
        if field != kind.environment, let words = mapping.value("words") {
            throw words.error(
                "stands for \(field.name)",
                suggestion: "only environment and status have words; status next to columns")
        }
        if let constant = mapping.value("constant") {
            guard kind.key.contains(field), field != kind.identifier else {
                throw constant.error(
                    "stands for \(field.name), of which rows differ",
                    suggestion: "only bundle_id and environment can be constants")
            }
            return .constant(try constant.constant(ofEnvironment: field == kind.environment))
        }
        let name = try mapping.required("column", example: "NAME").columnName()
        let form = try mapping.form(of: field)
        guard let path = mapping.value("path") else { return .column(name, form) }
        guard !kind.key.contains(field) else {
            throw path.error("a part of the key cannot be inside JSON")
        }
        let names = try path.text("names with dots between them").split(separator: ".")
            .map(String.init)
        guard !names.isEmpty, names.allSatisfy({ !$0.contains("\"") }) else {
            throw path.error("must be names with dots between them")
        }
        return .member(of: name, path: names, form)
    }

    /// One member of a mapping whose keys were read before.
    fileprivate func member(
        _ key: String, of kind: MappedTable
    ) throws(ConfigurationError) -> SettingsValue? {
        try mapping(keys: kind.fields.map(\.name)).value(key)
    }

    /// `words` of the environment: Apple's for each of the company's, each with one word.
    fileprivate func environmentWords() throws(ConfigurationError) -> [String: String]? {
        guard case .mapping = node,
            let words = try mapping(keys: ["column", "form", "path", "constant", "words"])
                .value("words")
        else { return nil }
        var names: [String: String] = [:]
        for (word, value) in try words.members() {
            let name = try value.constant(ofEnvironment: true)
            guard !names.values.contains(name) else {
                throw value.error(
                    "has two words",
                    suggestion: "the environment is a part of the key: one word for each")
            }
            names[word] = name
        }
        return names
    }

    /// The environment as the rows have it, in whatever case it is written.
    private func constant(ofEnvironment isEnvironment: Bool) throws(ConfigurationError) -> String {
        let text = try text()
        guard isEnvironment else { return text }
        let known = AppStoreEnvironment.allCases.map(\.rawValue)
        guard let name = known.first(where: { $0.lowercased() == text.lowercased() }) else {
            throw unknown(text, among: known)
        }
        return name
    }

    /// `{column: NAME, words: {WORD: NUMBER, …}, write: {NUMBER: WORD, …}}`.
    fileprivate func status() throws(ConfigurationError) -> (
        column: MappedColumn, words: StatusWords
    ) {
        let mapping = try mapping(keys: ["column", "words", "write"])
        let name = try mapping.required("column", example: "status").columnName()
        let words = try mapping.required("words", example: "{active: 1, expired: 2}")
        var numbers: [String: Int64] = [:]
        for (word, value) in try words.members() {
            numbers[word] = try value.integer(in: 1...5)
        }
        var written: [Int64: String] = [:]
        for number in Set(numbers.values) {
            let meaning = numbers.filter { $0.value == number }.keys
            if meaning.count == 1 { written[number] = meaning.first }
        }
        if let write = mapping.value("write") {
            for (number, value) in try write.members() {
                guard let number = Int64(number), (1...5).contains(number) else {
                    throw value.error("must stand for one of 1, 2, 3, 4, 5")
                }
                let word = try value.text("a word")
                guard numbers[word] != nil else {
                    throw value.unknown(word, among: numbers.keys.sorted())
                }
                written[number] = word
            }
        }
        let names = ["active", "expired", "billing retry", "grace period", "revoked"]
        for (number, name) in zip(Int64(1)..., names) where written[number] == nil {
            let several = numbers.filter { $0.value == number }.keys.sorted()
            throw error(
                several.isEmpty
                    ? "has no word for \(number) (\(name))"
                    : "has several words for \(number): \(several.joined(separator: ", "))",
                suggestion: "say which is written: \"write: {\(number): "
                    + "\(several.first ?? numbers.keys.sorted().first ?? "WORD")}\"")
        }
        return (.column(name, .text), StatusWords(numbers: numbers, written: written))
    }

    /// `no`, `yes`, or the other columns of an inserted row.
    fileprivate func inserts() throws(ConfigurationError) -> [String: CompanyLiteral]? {
        guard case .mapping = node else {
            switch try text("no, yes, or columns with values") {
            case "no", "false": return nil
            case "yes", "true": return [:]
            case let other:
                throw error(
                    "must be no, yes, or columns with values, not \"\(other)\"",
                    suggestion: "write for example \"insert: {source: trueup}\"")
            }
        }
        var constants: [String: CompanyLiteral] = [:]
        for (name, value) in try members() {
            guard case .scalar(let scalar) = value.node else {
                throw value.error("must be a text, a whole number, true, false or null")
            }
            guard scalar.style == .plain else {
                constants[name] = .text(scalar.string)
                continue
            }
            constants[name] =
                switch scalar.string {
                case "null", "~", "": .null
                case "true": .boolean(true)
                case "false": .boolean(false)
                case let text: Int64(text).map(CompanyLiteral.integer) ?? .text(text)
                }
        }
        return constants
    }

    /// Keys that are not settings, with their values.
    private func members() throws(ConfigurationError) -> [(key: String, value: SettingsValue)] {
        guard case .mapping(let pairs) = node else {
            throw error("must be keys and values")
        }
        let keys = pairs.compactMap { $0.key.scalar?.string }
        let mapping = try mapping(keys: keys)
        let members = keys.compactMap { key in mapping.value(key).map { (key: key, value: $0) } }
        guard !members.isEmpty else { throw error("is empty") }
        return members
    }
}

/// The words for the forms of columns.
private enum FormWord: String, CaseIterable {
    case text, integer, milliseconds, seconds, timestamptz, timestamp, boolean, uuid
    case uuidBinary = "uuid-binary"

    static let ofTimes = "milliseconds, seconds, timestamptz, timestamp"
}

extension SettingsMapping {
    /// The form of a column of trueup's; for times it must be stated.
    fileprivate func form(of field: MappedField) throws(ConfigurationError) -> ColumnForm {
        guard let value = value("form") else {
            guard field.form != .time else {
                throw error(
                    "form", "is missing", suggestion: "forms of times: \(FormWord.ofTimes)")
            }
            return field.form == .text ? .text : .integer
        }
        let word = try value.choice(of: FormWord.self)
        let form: ColumnForm =
            switch word {
            case .text: .text
            case .integer: .integer
            case .milliseconds: .milliseconds
            case .seconds: .seconds
            case .timestamptz: .timestamptz
            case .timestamp: .timestamp(try clock())
            case .boolean: .boolean
            case .uuid: .uuid
            case .uuidBinary: .uuidBinary
            }
        if word != .timestamp, let zone = self.value("zone") {
            throw zone.error(
                "cannot be used together with a form that has none", suggestion: "leave it out")
        }
        guard form.fits(field.form) else {
            throw value.error("\"\(word.rawValue)\" cannot hold \(field.name)")
        }
        return form
    }

    /// The clock of times without an offset: `UTC`, an offset that never changes, or a zone.
    private func clock() throws(ConfigurationError) -> LocalClock {
        let value = try required("zone", example: "UTC")
        let text = try value.text("UTC, an offset such as +02:00, or a zone such as Europe/Berlin")
        guard text.uppercased() != "UTC", text != "Z" else { return LocalClock(minutesEast: 0) }
        guard let sign = text.first, "+-".contains(sign) else { return try value.zone(text) }
        guard text.utf8.count == 6, Timestamp(rfc3339: "2000-01-01T00:00:00" + text) != nil,
            let hours = Int(text.dropFirst().prefix(2)), let minutes = Int(text.suffix(2))
        else { throw value.error("must be an offset such as +02:00, not \"\(text)\"") }
        let total = hours.multipliedReportingOverflow(by: 60).partialValue &+ minutes
        return LocalClock(minutesEast: sign == "-" ? 0 &- total : total)
    }
}

extension SettingsValue {
    /// The folder with the rules of time zones.
    private static let zoneFolder = "/usr/share/zoneinfo/"
    private static let mostZoneBytes = 1 << 20
    /// No dots: nothing outside of the folder has such a name.
    private static let zoneNameBytes = Set<UInt8>.asciiLettersAndDigits.union("_+-".utf8)

    /// A zone of this machine's time zone database.
    fileprivate func zone(_ name: String) throws(ConfigurationError) -> LocalClock {
        let isName =
            !name.isEmpty && name.utf8.count < 100
            && name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
                !part.isEmpty && part.utf8.allSatisfy(Self.zoneNameBytes.contains)
            }
        guard isName, let data = FileManager.default.contents(atPath: Self.zoneFolder + name),
            data.count < Self.mostZoneBytes
        else {
            throw error(
                "\"\(name)\" is not a zone of this machine",
                suggestion: "write UTC, an offset such as +02:00, or a file of \(Self.zoneFolder) "
                    + "(package tzdata) such as Europe/Berlin")
        }
        guard let clock = LocalClock(zone: name, tzif: Array(data)) else {
            throw error(
                "\(Self.zoneFolder)\(name) cannot be read as a zone",
                suggestion: "keep the column as timestamptz, or show it so in a view")
        }
        return clock
    }
}
