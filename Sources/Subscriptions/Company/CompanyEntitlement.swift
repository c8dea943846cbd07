/// An entitlement of a customer: a row of `trueup_entitlements`, or of the company's table of them.
package struct StoredEntitlement: Hashable, Sendable {
    package struct Key: Hashable, Comparable, Sendable {
        package var bundleID: String
        package var environment: String
        package var customerID: String
        package var entitlement: String

        package init(
            bundleID: String, environment: String, customerID: String, entitlement: String
        ) {
            self.bundleID = bundleID
            self.environment = environment
            self.customerID = customerID
            self.entitlement = entitlement
        }

        var texts: [String] { [bundleID, environment, customerID, entitlement] }

        /// Equal bytes: equivalent spellings are different customers to the database.
        package static func == (left: Key, right: Key) -> Bool {
            left.customerID.hasSameBytes(as: right.customerID)
                && left.entitlement.hasSameBytes(as: right.entitlement)
                && left.bundleID.hasSameBytes(as: right.bundleID)
                && left.environment.hasSameBytes(as: right.environment)
        }

        package static func < (left: Key, right: Key) -> Bool {
            left.texts.lexicographicallyPrecedes(right.texts) { $0.precedesByBytes($1) }
        }
    }

    package var key: Key
    /// `nil` for life.
    package var expiresDate: Timestamp?
    package var gracePeriodExpiresDate: Timestamp?
    package var originalTransactionID: String
    package var productID: String
    package var willRenew: Bool?
    package var signedDate: Timestamp?
    /// Only trueup's own table has it.
    package var ownership: String?

    package init(
        key: Key, expiresDate: Timestamp?, gracePeriodExpiresDate: Timestamp?,
        originalTransactionID: String, productID: String, willRenew: Bool?,
        signedDate: Timestamp?, ownership: String?
    ) {
        self.key = key
        self.expiresDate = expiresDate
        self.gracePeriodExpiresDate = gracePeriodExpiresDate
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.willRenew = willRenew
        self.signedDate = signedDate
        self.ownership = ownership
    }

    /// Whether the customer may use it at this moment.
    package func isActive(at now: Timestamp) -> Bool { expiresDate.map { $0 > now } ?? true }
}

/// A row of the company's table of entitlements: its values as texts, in the order of
/// `EntitlementStatements.values`, and `nil` for NULL.
package struct CompanyEntitlement: Hashable, Sendable {
    package var key: StoredEntitlement.Key
    package var texts: [String?]

    /// - Parameter entitlement: As trueup's own table has it.
    package init(_ entitlement: StoredEntitlement) {
        key = entitlement.key
        texts = [
            Self.text(entitlement.expiresDate), Self.text(entitlement.gracePeriodExpiresDate),
            entitlement.originalTransactionID, entitlement.productID,
            entitlement.willRenew.map { $0 ? "1" : "0" }, Self.text(entitlement.signedDate),
        ]
    }

    /// - Parameter row: The texts of `EntitlementStatements.columns`; `nil` where it has no key.
    init?(row: [String?]) {
        let parts = row.prefix(EntitlementStatements.key.count).compactMap(\.self)
        guard parts.count == EntitlementStatements.key.count,
            row.count == EntitlementStatements.columns.count
        else { return nil }
        key = StoredEntitlement.Key(
            bundleID: parts[0], environment: parts[1], customerID: parts[2], entitlement: parts[3])
        texts = Array(row.dropFirst(parts.count))
        // A column of booleans serves as well as one of numbers.
        texts[4] = ["true": "1", "false": "0"][texts[4] ?? ""] ?? texts[4]
    }

    /// The entitlement as the table shows it.
    ///
    /// - Parameter known: What trueup's own table has; it has the ownership as well.
    /// - Returns: `nil` where a value is not of the table's form.
    package func entitlement(ownership known: StoredEntitlement?) -> StoredEntitlement? {
        guard let expires = Self.time(texts[0]), let grace = Self.time(texts[1]),
            let id = texts[2], let product = texts[3], let signed = Self.time(texts[5])
        else { return nil }
        return StoredEntitlement(
            key: key, expiresDate: expires, gracePeriodExpiresDate: grace,
            originalTransactionID: id, productID: product, willRenew: texts[4].map { $0 == "1" },
            signedDate: signed, ownership: known?.ownership)
    }

    private static func text(_ time: Timestamp?) -> String? {
        time.map { String($0.unixMilliseconds) }
    }

    /// A time in the text; `.some(nil)` for NULL, and `nil` for anything but a number.
    private static func time(_ text: String?) -> Timestamp?? {
        guard let text else { return .some(nil) }
        return Int64(text).map { .some(Timestamp(unixMilliseconds: $0)) }
    }
}

/// A change of one row of the company's table of entitlements.
package enum CompanyEntitlementChange: Hashable, Sendable {
    /// The row is as trueup's own table has it.
    case kept(StoredEntitlement)
    case deleted(StoredEntitlement.Key)

    package var key: StoredEntitlement.Key {
        switch self {
        case .kept(let entitlement): entitlement.key
        case .deleted(let key): key
        }
    }
}

/// The SQL for the company's table of entitlements, which `store.entitlements` names.
package struct EntitlementStatements: Hashable, Sendable {
    package let name: CompanyTableName
    private let dialect: MappedStatements.Dialect

    static let key = ["bundle_id", "environment", "customer_id", "entitlement"]
    static let values = [
        "expires_date", "grace_period_expires_date", "original_transaction_id", "product_id",
        "will_renew", "signed_date",
    ]
    static let columns = key + values

    package init(_ name: CompanyTableName, for dialect: MappedStatements.Dialect) {
        self.name = name
        self.dialect = dialect
    }

    /// The rows behind a key, in the order of the database; each has a key.
    package func page(
        after last: StoredEntitlement.Key?, limit: Int, of apps: [AppIdentity]?
    ) -> MappedStatement {
        var list = ArgumentList(dialect: dialect)
        var terms = Self.key.map { "\($0) IS NOT NULL" }
        if let last {
            let texts = last.texts
            terms.append(list.isBehind(Self.key) { $1.mark(.text(texts[$0])) })
        }
        if let apps {
            let any = apps.map { app in
                "(bundle_id = \(list.mark(.text(app.bundleID))) AND environment = "
                    + "\(list.mark(.text(app.environment.rawValue))))"
            }
            terms.append("(" + (any.isEmpty ? "1 = 0" : any.joined(separator: " OR ")) + ")")
        }
        let order = Self.key.joined(separator: ", ")
        let most = list.mark(.integer(Int64(limit)))
        return MappedStatement(
            sql: "SELECT \(selection) FROM \(table) WHERE \(terms.joined(separator: " AND ")) "
                + "ORDER BY \(order) LIMIT \(most)", arguments: list.arguments)
    }

    /// The rows of these keys, of which there is at least one.
    package func rows(of keys: [StoredEntitlement.Key]) -> MappedStatement {
        var list = ArgumentList(dialect: dialect)
        let isOne = isOne(of: keys, &list)
        return MappedStatement(
            sql: "SELECT \(selection) FROM \(table) WHERE \(isOne)", arguments: list.arguments)
    }

    /// The term that names the rows of these keys.
    private func isOne(
        of keys: [StoredEntitlement.Key], _ list: inout ArgumentList
    ) -> String {
        let named = keys.map { marks(of: $0, &list) }.joined(separator: ", ")
        // SQLite takes a list of tuples only as the rows of a table.
        return "\(Self.keyTuple) IN " + (dialect == .sqlite ? "(VALUES \(named))" : "(\(named))")
    }

    /// The rows of one customer.
    package func rows(ofCustomer customer: String) -> MappedStatement {
        var list = ArgumentList(dialect: dialect)
        let mark = list.mark(.text(customer))
        return MappedStatement(
            sql: "SELECT \(selection) FROM \(table) WHERE customer_id = \(mark)",
            arguments: list.arguments)
    }

    /// The statements that make rows as they are to be.
    package func write(_ changes: [CompanyEntitlementChange]) -> [MappedStatement] {
        var kept: [CompanyEntitlement] = []
        var deleted: [StoredEntitlement.Key] = []
        for change in changes {
            switch change {
            case .kept(let entitlement): kept.append(CompanyEntitlement(entitlement))
            case .deleted(let key): deleted.append(key)
            }
        }
        return [insertion(of: kept), deletion(of: deleted)].compactMap(\.self)
    }

    private func insertion(of rows: [CompanyEntitlement]) -> MappedStatement? {
        guard !rows.isEmpty else { return nil }
        var list = ArgumentList(dialect: dialect)
        let lines = rows.map { row in
            let key = row.key.texts.map { list.mark(.text($0)) }
            let values = row.texts.enumerated().map { index, text in
                guard let text else { return list.mark(.null) }
                let isText = ["original_transaction_id", "product_id"].contains(Self.values[index])
                return list.mark(
                    isText ? .text(text) : Int64(text).map(CompanyLiteral.integer) ?? .text(text))
            }
            return "(" + (key + values).joined(separator: ", ") + ")"
        }
        let sets = Self.values.map { "\($0) = \(proposed($0))" }.joined(separator: ", ")
        let conflict =
            dialect == .mysql
            ? " ON DUPLICATE KEY UPDATE "
            : " ON CONFLICT (\(Self.key.joined(separator: ", "))) DO UPDATE SET "
        return MappedStatement(
            sql: "INSERT INTO \(table) (\(Self.columns.joined(separator: ", "))) VALUES "
                + lines.joined(separator: ", ") + conflict + sets,
            arguments: list.arguments)
    }

    /// The value that an insertion proposed for a row that is there already.
    private func proposed(_ column: String) -> String {
        dialect == .mysql ? "VALUES(\(column))" : "excluded.\(column)"
    }

    private func deletion(of keys: [StoredEntitlement.Key]) -> MappedStatement? {
        guard !keys.isEmpty else { return nil }
        var list = ArgumentList(dialect: dialect)
        let isOne = isOne(of: keys, &list)
        return MappedStatement(
            sql: "DELETE FROM \(table) WHERE \(isOne)", arguments: list.arguments)
    }

    /// The writes of a run, as statements that change no row: the server checks the rights all the
    /// same.
    package var trials: [String] {
        let nothing = Self.columns.map { _ in "NULL" }.joined(separator: ", ")
        return [
            "INSERT INTO \(table) (\(Self.columns.joined(separator: ", "))) SELECT \(nothing) "
                + names.nowhere,
            "UPDATE \(table) SET "
                + Self.values.map { "\($0) = \($0)" }.joined(separator: ", ") + " WHERE 1 = 0",
            "DELETE FROM \(table) WHERE 1 = 0",
        ]
    }

    /// Compares rows with what was written: a trigger, a rule or a policy may change or skip it.
    ///
    /// - Parameters:
    ///   - changes: As they were written.
    ///   - found: The rows of their keys, read again.
    /// - Returns: Why the rows are not as they were to be; `nil` where they are.
    package func refusal(
        of changes: [CompanyEntitlementChange], found: [CompanyEntitlement]
    ) -> String? {
        let standing = Dictionary(found.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        let isWrong = changes.contains { change in
            switch change {
            case .kept(let entitlement):
                standing[entitlement.key] != CompanyEntitlement(entitlement)
            case .deleted(let key): standing[key] != nil
            }
        }
        guard isWrong else { return nil }
        return refusal(
            "a row of it is not as it was written: a trigger, a rule or a policy of the table "
                + "changes or skips it")
    }

    /// A refusal in the database's words, with the table that they are about.
    package func refusal(_ words: String) -> String {
        "the table \(name) of entitlements: \(words)"
    }

    private static let keyTuple = "(" + key.joined(separator: ", ") + ")"

    private var selection: String {
        Self.columns.map { column in
            switch dialect {
            case .sqlite: "CAST(\(column) AS TEXT)"
            case .postgresql: "\(column)::text"
            case .mysql: MappedStatements.bytes(column)
            }
        }.joined(separator: ", ")
    }

    private func marks(of key: StoredEntitlement.Key, _ list: inout ArgumentList) -> String {
        "(" + key.texts.map { list.mark(.text($0)) }.joined(separator: ", ") + ")"
    }

    private var table: String { names.table }

    private var names: MappedStatements {
        MappedStatements(TableMapping(table: name, columns: [:]), for: dialect)
    }

    /// The rows that a query of `columns` found.
    package func rows(of texts: [[String?]]) -> [CompanyEntitlement] {
        texts.compactMap(CompanyEntitlement.init(row:))
    }
}

extension EntitlementStatements {
    /// The statement that makes the table.
    package var definition: String {
        if dialect == .mysql {
            return """
                CREATE TABLE \(table) (bundle_id VARCHAR(155) NOT NULL, environment VARCHAR(20) NOT \
                NULL, customer_id VARCHAR(255) NOT NULL, entitlement VARCHAR(128) NOT NULL, \
                expires_date BIGINT, grace_period_expires_date BIGINT, original_transaction_id \
                VARCHAR(255) NOT NULL, product_id VARCHAR(255) NOT NULL, will_renew INTEGER, \
                signed_date BIGINT, PRIMARY KEY (bundle_id, environment, customer_id, entitlement)) \
                ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin
                """
        }
        let number = dialect == .sqlite ? "INTEGER" : "BIGINT"
        return """
            CREATE TABLE \(table) (bundle_id TEXT NOT NULL, environment TEXT NOT NULL, customer_id \
            TEXT NOT NULL, entitlement TEXT NOT NULL, expires_date \(number), \
            grace_period_expires_date \(number), original_transaction_id TEXT NOT NULL, product_id \
            TEXT NOT NULL, will_renew INTEGER, signed_date \(number), PRIMARY KEY (bundle_id, \
            environment, customer_id, entitlement))
            """
    }

    /// Checks whether a run can keep the entitlements there.
    ///
    /// - Parameters:
    ///   - found: The table as its database describes it; `nil` for none.
    ///   - place: The database, for the sentence.
    ///   - mayWrite: Whether corrections will be written.
    /// - Returns: The problem and what to do; `nil` for none.
    package func obstacle(
        in found: CompanyTableDescription?, of place: String, mayWrite: Bool
    ) -> String? {
        let named = "which store.entitlements names"
        guard let found else {
            return
                "\(place) has no table \(name) that its user may see, \(named). Nothing was read "
                + "or written. Make it: \(definition)"
        }
        guard let problem = problem(of: found, mayWrite: mayWrite) else { return nil }
        return "The table \(name) of \(place), \(named), \(problem). Nothing was read or written. "
            + "Change the table, or make another one: \(definition)"
    }

    private func problem(of found: CompanyTableDescription, mayWrite: Bool) -> String? {
        guard !found.isView else { return "is a view" }
        if let missing = Self.columns.first(where: { found.column($0) == nil }) {
            return "has no column \(missing)"
        }
        let texts = Self.key + ["original_transaction_id", "product_id"]
        for column in found.columns where Self.columns.contains(column.name) {
            let holds =
                texts.contains(column.name)
                ? isText(column.type) : isNumber(column.type, isFlag: column.name == "will_renew")
            guard holds else { return "has the column \(column.name) of type \(column.type)" }
            guard !column.isGenerated else { return "generates the column \(column.name) itself" }
            guard texts.contains(column.name) || column.isNullable else {
                return "does not allow NULL in the column \(column.name)"
            }
        }
        let keys =
            [found.primaryKey] + found.indexes.filter { $0.isUnique && $0.isWhole }.map(\.columns)
        guard keys.contains(where: { $0.count == Self.key.count && Set($0) == Set(Self.key) })
        else {
            return "has no primary key or unique index of (\(Self.key.joined(separator: ", ")))"
        }
        let unset = found.columns.first {
            !Self.columns.contains($0.name) && !$0.isNullable && !$0.hasDefault && !$0.isGenerated
        }
        if let unset {
            return "has the column \(unset.name), which may not be NULL and has no default"
        }
        guard found.rights.maySelect else { return "may not be read (GRANT SELECT)" }
        guard mayWrite else { return nil }
        guard found.rights.updatable.isSuperset(of: Self.values),
            found.rights.insertable.isSuperset(of: Self.columns)
        else { return "may not be written (GRANT SELECT, INSERT, UPDATE, DELETE ON \(table))" }
        return nil
    }

    private func isText(_ type: String) -> Bool {
        if dialect == .mysql {
            return ["varchar", "char("].contains(where: type.hasPrefix)
                || ["tinytext", "text", "mediumtext", "longtext"].contains(type)
        }
        guard dialect == .postgresql else {
            return ["char", "clob", "text"].contains(where: type.contains) && !type.contains("int")
        }
        return type == "text" || type.hasPrefix("character varying")
    }

    private func isNumber(_ type: String, isFlag: Bool) -> Bool {
        if isFlag, type == "boolean" { return true }
        if dialect == .mysql {
            return type.hasPrefix("bigint") || isFlag && type.contains("int")
        }
        guard dialect == .postgresql else { return type.contains("int") }
        return type == "bigint" || isFlag && ["smallint", "integer"].contains(type)
    }
}
