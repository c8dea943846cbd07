import JSONWebSignature
package import Subscriptions

/// A JSON object of the program's, read strictly: it is as foreign as a file from anywhere.
///
/// Its members are there once each.
struct ProgramObject {
    /// The four ways in which a program says that it cannot answer.
    enum Refusal: String {
        case unavailable, busy, config, `internal`
    }

    private let members: [String: JSONValue]
    private let what: String

    init(_ value: JSONValue, _ what: String) throws(ProgramProcess.Fault) {
        guard value.isObject else { throw .violation("wrote \(what) that is not a JSON object") }
        var members: [String: JSONValue] = [:]
        for (name, value) in value.members {
            guard members.updateValue(value, forKey: name.text ?? "") == nil else {
                throw .violation("wrote \(what) with one member twice")
            }
        }
        self.members = members
        self.what = what
    }

    /// Reads an answer.
    ///
    /// - Parameters:
    ///   - line: Without its line feed.
    ///   - id: Of the request.
    /// - Throws: What is wrong with it.
    init(answer line: [UInt8], to id: Int64) throws(ProgramProcess.Fault) {
        let document: JSONDocument
        do {
            document = try JSONDocument(line)
        } catch {
            throw .violation("wrote a line that is not JSON in UTF-8: \(error)")
        }
        try self.init(document.root, "the answer")
        guard let answered = self["id"]?.integer else {
            throw .violation("answered without the id of the request")
        }
        guard answered == id else {
            throw .violation("answered the request \(answered), and \(id) was asked")
        }
    }

    /// The words of an answer where the program cannot give one; `nil` where it does.
    func refusal() throws(ProgramProcess.Fault) -> (Refusal, String)? {
        guard let error = self["error"] else { return nil }
        guard let name = error.text, let refusal = Refusal(rawValue: name) else {
            throw .violation(
                "answered with an error that is not unavailable, busy, config or internal")
        }
        return (refusal, self["message"]?.text ?? "without a message")
    }

    /// A member that is there and not null.
    subscript(_ name: String) -> JSONValue? {
        members[name].flatMap { $0.isNull ? nil : $0 }
    }

    var all: [String: JSONValue] { members }

    func text(_ name: String) throws(ProgramProcess.Fault) -> String {
        guard let text = self[name]?.text else {
            throw .violation("wrote \(what) without a text as \(name)")
        }
        return text
    }

    func boolean(_ name: String) throws(ProgramProcess.Fault) -> Bool {
        guard let value = self[name] else { return false }
        guard let truth = value.boolean else {
            throw .violation("wrote \(what) with a \(name) that is not true or false")
        }
        return truth
    }

    func list(_ name: String) throws(ProgramProcess.Fault) -> [JSONValue] {
        guard let value = self[name], value.isArray else {
            throw .violation("wrote \(what) without a list as \(name)")
        }
        return value.elements
    }
}

/// The program's answer to `hello`: its name, its columns and its limits.
package struct ProgramGreeting: Hashable, Sendable {
    package var name: String
    /// The columns that it keeps, besides those of the key.
    package var columns: Set<MappedField>
    package var takesInserts: Bool
    /// Whether its rows have a version.
    package var hasVersions: Bool
    package var keepsMilliseconds: Bool
    /// How many writes fit in one of its units.
    package var unit: Int64
    /// Whether its table may be filled and emptied.
    package var isScratch: Bool

    private static let longestNameBytes = 200

    init(_ answer: ProgramObject) throws(ProgramProcess.Fault) {
        guard answer["protocol"]?.integer == 1 else {
            throw .violation("does not speak protocol 1 (\"protocol\":1)")
        }
        name = try answer.text("name")
        guard !name.isEmpty, name.utf8.count <= Self.longestNameBytes,
            name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
            )
        else {
            throw .violation(
                "has a name that is empty, longer than 200 bytes, or has control characters")
        }
        columns = []
        var named: Set<String> = []
        for column in try answer.list("columns") {
            guard let text = column.text,
                let field = MappedTable.subscriptions.field(named: text)
            else {
                throw .violation(
                    "names a column that trueup does not have: \(column.source.prefix(60))")
            }
            guard named.insert(text).inserted else {
                throw .violation("names the column \(text) twice")
            }
            columns.insert(field)
        }
        columns.subtract(MappedTable.subscriptions.key)
        guard columns.contains(.status) else {
            throw .violation("does not keep the column status, by which trueup checks")
        }
        takesInserts = try answer.boolean("inserts")
        hasVersions = try answer.boolean("version")
        isScratch = try answer.boolean("scratch")
        switch answer["time_unit"]?.text {
        case "ms": keepsMilliseconds = true
        case "s": keepsMilliseconds = false
        case nil where answer["time_unit"] == nil: keepsMilliseconds = true
        default: throw .violation("has a time_unit that is not \"ms\" or \"s\"")
        }
        unit = answer["unit"] == nil ? 1 : answer["unit"]?.integer ?? 0
        guard unit >= 1 else { throw .violation("has a unit that is not a whole number from 1") }
    }

    /// How the rows are read and written: by our own names, in the program's unit of time.
    package var mapping: TableMapping {
        var columns = TableMapping.ofProgram(named: name, self.columns)
        for field in self.columns where field.form == .time {
            columns.columns[field] = .column(
                field.name, keepsMilliseconds ? .milliseconds : .seconds)
        }
        columns.versionColumn = hasVersions ? "version" : nil
        columns.inserts = takesInserts ? [:] : nil
        return columns
    }
}

extension TableMapping {
    /// The columns of a store by program under our own names.
    ///
    /// - Parameters:
    ///   - name: What the program calls itself.
    ///   - fields: The columns that it keeps, besides those of the key.
    /// - Returns: A mapping that takes inserts and has no version.
    package static func ofProgram(
        named name: String, _ fields: Set<MappedField> = Set(MappedTable.subscriptions.fields)
    ) -> TableMapping {
        var columns: [MappedField: MappedColumn] = [:]
        for field in fields.union(MappedTable.subscriptions.key) {
            let form: ColumnForm =
                switch field.form {
                case .text: .text
                case .integer: .integer
                case .time: .milliseconds
                }
            columns[field] = .column(field.name, form)
        }
        return TableMapping(table: CompanyTableName(name: name), columns: columns, inserts: [:])
    }
}

extension ProgramGreeting {
    /// A row of `page` or `rows`.
    func row(_ value: JSONValue) throws(ProgramProcess.Fault) -> CompanyRow {
        let object = try ProgramObject(value, "a row")
        guard let keyValue = object["key"] else { throw .violation("wrote a row without a key") }
        var row = CompanyRow(key: try Self.key(keyValue), values: [:])
        guard let valuesValue = object["values"] else {
            throw .violation("wrote a row without values")
        }
        let values = try ProgramObject(valuesValue, "the values of a row").all
        for (name, value) in values {
            guard let field = MappedTable.subscriptions.field(named: name), columns.contains(field)
            else {
                guard MappedTable.subscriptions.key.contains(where: { $0.name == name }) else {
                    throw Self.unnamed(name)
                }
                continue
            }
            if let read = self.value(value, in: field) {
                row.values[field] = read
            } else {
                row.unreadable[field] = value.text ?? value.source
            }
        }
        if let unreadable = object["unreadable"] {
            for (name, value) in try ProgramObject(unreadable, "the unreadable values of a row").all
            {
                guard let field = MappedTable.subscriptions.field(named: name),
                    columns.contains(field)
                else {
                    throw Self.unnamed(name)
                }
                row.values[field] = nil
                row.unreadable[field] = value.text ?? value.source
            }
        }
        // A column that is not stated is empty there.
        for field in columns where row.values[field] == nil && row.unreadable[field] == nil {
            row.values[field] = .null
        }
        for (field, shown) in row.unreadable { row.unreadable[field] = String(shown.prefix(200)) }
        if hasVersions {
            guard let version = object["version"]?.integer else {
                throw .violation("wrote a row without a whole number as version")
            }
            row.version = version
        }
        return row
    }

    private static func unnamed(_ column: String) -> ProgramProcess.Fault {
        .violation(
            "wrote a row with the column \(column.prefix(60).debugDescription), which its columns do "
                + "not name")
    }

    private static func key(_ value: JSONValue) throws(ProgramProcess.Fault) -> SubscriptionKey {
        let object = try ProgramObject(value, "a key")
        let key = SubscriptionKey(
            bundleID: try object.text(SubscriptionField.bundleID.rawValue),
            environment: try object.text(SubscriptionField.environment.rawValue),
            originalTransactionID: try object.text(SubscriptionField.originalTransactionID.rawValue)
        )
        guard
            [key.bundleID, key.environment, key.originalTransactionID].allSatisfy({
                !$0.isEmpty && !$0.utf8.contains(0)
            })
        else { throw .violation("wrote a key with an empty text or a NUL in it") }
        return key
    }

    /// A value of trueup's; `nil` where it has not its column's form.
    private func value(_ value: JSONValue, in field: MappedField) -> FieldValue? {
        guard !value.isNull else { return .null }
        switch field.form {
        case .text:
            // SQLite ends a text there, where the rows are kept for checking.
            return value.text.flatMap { $0.utf8.contains(0) ? nil : .text($0) }
        case .integer: return value.integer.map(FieldValue.integer)
        case .time:
            guard let number = value.integer else { return nil }
            guard !keepsMilliseconds else {
                return .time(Timestamp(unixMilliseconds: number))
            }
            let (product, overflow) = number.multipliedReportingOverflow(by: 1000)
            return overflow ? nil : .time(Timestamp(unixMilliseconds: product))
        }
    }

    /// The values of a change as the program keeps them; `nil` where one cannot be kept.
    func members(_ values: [MappedField: FieldValue], by mapping: TableMapping)
        -> CanonicalJSON?
    {
        var members: [String: CanonicalJSON] = [:]
        for (field, value) in values {
            switch mapping.literal(value, in: field) {
            case .null: members[field.name] = .null
            case .text(let text): members[field.name] = .string(text)
            case .integer(let number): members[field.name] = .integer(number)
            case .boolean, nil: return nil
            }
        }
        return .object(members)
    }
}

/// The program's word about one change of a unit.
enum ProgramFate: Hashable, Sendable {
    /// With the version after it, where it was stated.
    case applied(Int64?)
    case stale
    case refused(String)

    /// The fates of a unit; `nil` where the program cannot tell.
    static func all(
        of answer: ProgramObject, count: Int
    ) throws(ProgramProcess.Fault) -> [ProgramFate]? {
        guard let committed = answer["committed"] else {
            throw .violation("answered a write without saying whether it is committed")
        }
        if committed.isText("unknown") { return nil }
        guard let isCommitted = committed.boolean else {
            throw .violation("answered a write with a committed that is not true, false or unknown")
        }
        let list = try answer.list("fates")
        guard list.count == count else {
            throw .violation("answered a write of \(count) rows with \(list.count) fates")
        }
        var fates: [ProgramFate] = []
        for value in list {
            let fate = try ProgramFate(ProgramObject(value, "a fate"))
            if case .applied = fate, !isCommitted {
                throw .violation("applied a row and did not commit it")
            }
            fates.append(fate)
        }
        return fates
    }

    private init(_ fate: ProgramObject) throws(ProgramProcess.Fault) {
        guard fate.all.count == 1 else {
            throw .violation("wrote a fate that is not one of applied, stale and refused")
        }
        if let applied = fate.all["applied"] {
            guard applied.integer != nil || applied.isNull || applied.boolean == true else {
                throw .violation("wrote a fate with an applied that is not the version of the row")
            }
            self = .applied(applied.integer)
        } else if fate["stale"]?.boolean == true {
            self = .stale
        } else if let reason = fate["refused"]?.text {
            self = .refused(String(reason.prefix(500)))
        } else {
            throw .violation("wrote a fate that is not one of applied, stale and refused")
        }
    }
}

extension SubscriptionKey {
    var json: CanonicalJSON {
        .object([
            SubscriptionField.bundleID.rawValue: .string(bundleID),
            SubscriptionField.environment.rawValue: .string(environment),
            SubscriptionField.originalTransactionID.rawValue: .string(originalTransactionID),
        ])
    }
}

extension CompanyLedgerEntry {
    /// An entry as the program returned it.
    init(_ value: JSONValue) throws(ProgramProcess.Fault) {
        let object = try ProgramObject(value, "an entry")
        guard let number = object["number"]?.integer, number > 0 else {
            throw .violation("wrote an entry without a whole number from 1 as number")
        }
        let content = try object.text("text")
        let hash = try object.text("hash")
        let read = (try? JSONDocument(Array(content.utf8))).flatMap { JSONMembers($0.root) }
        guard var line = read, line.take("ledger_entry")?.integer == number,
            line.take("ledger_hash")?.text == hash
        else {
            throw .violation(
                "wrote the entry \(number) with a text that is not the entry it was given")
        }
        let run = line.take("run_id")?.text ?? ""
        let written = line.take("written_at")?.text.flatMap { Timestamp(rfc3339: $0) }
        self.init(
            number: number, digest: hash, run: run, content: content,
            writtenAt: written ?? Timestamp(unixMilliseconds: 0))
    }

    var json: CanonicalJSON {
        .object([
            "number": .integer(number), "hash": .string(digest), "text": .string(content),
        ])
    }
}
