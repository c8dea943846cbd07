import MySQLDatabase
import PostgresDatabase
package import Subscriptions

/// A commented proposal of `store.subscriptions`, made from a live schema: to be read by a person.
package struct MappingProposal: Sendable {
    private let tables: [CompanyTableDescription]
    private let url: String
    /// The values of the column of the status; empty where they were not read.
    package var statusWords: [String] = []

    /// - Parameters:
    ///   - tables: What the database has.
    ///   - url: As `store.url` would name it.
    package init(_ tables: [CompanyTableDescription], url: String) {
        self.tables = tables
        self.url = url
    }

    /// Names of columns that mean one of trueup's, the likeliest first, without underscores.
    private static let names: [(field: SubscriptionField, names: [String])] = [
        (
            .originalTransactionID,
            [
                "originaltransactionid", "otid", "appleoriginaltransactionid", "originaltxid",
                "originalid", "appleid", "appleotid", "iosotid", "storeotid", "appstoreotid",
                "originaltransaction", "appleoriginalid", "appleoriginaltransaction",
                "originaltransid", "applesubscriptionid",
            ]
        ),
        (.bundleID, ["bundleid", "appbundleid", "app"]),
        (.environment, ["environment", "appleenvironment", "storeenvironment"]),
        (.customerID, ["customerid", "userid", "accountid", "memberid", "member"]),
        (.appAccountToken, ["appaccounttoken", "accounttoken"]),
        (.productID, ["productid", "product", "sku", "plan"]),
        (
            .expiresDate,
            [
                "expiresdate", "expiresat", "expires", "expiresms", "expiry", "expiration",
                "validuntil", "paiduntil", "endsat",
            ]
        ),
        (.gracePeriodExpiresDate, ["graceperiodexpiresdate", "graceexpiresat", "graceuntil"]),
        (.autoRenewStatus, ["autorenewstatus", "autorenew", "willrenew"]),
        (.autoRenewProductID, ["autorenewproductid", "nextproductid"]),
        (.revocationDate, ["revocationdate", "revokedat", "refundedat"]),
        (.inAppOwnershipType, ["inappownershiptype", "ownership"]),
        (
            .latestTransactionID,
            ["latesttransactionid", "lasttransactionid", "lasttransaction", "transactionid"]
        ),
        (.webOrderLineItemID, ["weborderlineitemid"]),
    ]

    /// Names of columns that may hold the date of a refund, or that of a renewal which the customer
    /// turned off: a run would overwrite the second.
    private static let namesOfCancellation = [
        "cancellationdate", "cancelledat", "canceledat", "cancelledon", "canceledon",
    ]

    /// Names of columns of a table of one-time purchases; the first three are required.
    private static let namesOfPurchases: [(field: TransactionField, names: [String])] = [
        (
            .transactionID,
            [
                "transactionid", "storetransactionid", "appletransactionid", "iostransactionid",
                "transaction", "txid",
            ]
        ),
        (.purchaseDate, ["purchasedate", "purchasedat", "boughtat", "purchasems"]),
        (.revocationDate, ["revocationdate", "revokedat", "refundedat", "refunddate"]),
        (.bundleID, names(of: .bundleID)),
        (.environment, names(of: .environment)),
        (.customerID, names(of: .customerID)),
        (.appAccountToken, names(of: .appAccountToken)),
        (.productID, names(of: .productID)),
        (.quantity, ["quantity", "qty"]),
        (.revocationReason, ["revocationreason", "refundreason"]),
    ]

    private static func names(of field: SubscriptionField) -> [String] {
        names.first { $0.field == field }?.names ?? []
    }

    /// The characters that a name may have without quotes.
    private static let plainBytes = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.".utf8)

    private static let statusNames = ["applestatus", "status", "state", "subscriptionstatus"]
    private static let versionNames = ["version", "lockversion", "rowversion"]

    private static func plain(_ name: String) -> String {
        name.lowercased().filter { $0 != "_" && $0 != "-" && $0 != " " }
    }

    /// The tables that have the id, the likeliest first.
    ///
    /// That is the one with the most columns that are recognized; then a table, before views of it;
    /// then one that holds an id once, before copies of it.
    private var candidates: [CompanyTableDescription] {
        let ranked = tables.filter { Self.column(for: Self.names[0].names, in: $0) != nil }
            .enumerated().map { place, table in
                let recognized = Self.names.filter { Self.column(for: $0.names, in: table) != nil }
                let rank = [
                    recognized.count, table.isView ? 0 : 1, table.hasUniqueKey ? 1 : 0, -place,
                ]
                return (table, rank)
            }
        return ranked.sorted { $1.1.lexicographicallyPrecedes($0.1) }.map(\.0)
    }

    private var best: CompanyTableDescription? { candidates.first }

    /// A table that seems to hold one-time purchases: transactions that may be refunded and have no end.
    private var purchases: CompanyTableDescription? {
        tables.first { table in
            let required = Self.namesOfPurchases.prefix(3)
            return table.name != best?.name
                && required.allSatisfy { Self.column(for: $0.names, in: table) != nil }
                && Self.column(for: Self.names(of: .expiresDate), in: table) == nil
        }
    }

    /// Columns whose names speak of Apple or of transactions, for a person to choose from where no
    /// table has the id under a name that is known.
    package var columnsToLookAt: [String] {
        let marks = ["otid", "original", "transaction", "apple", "itunes", "storekit", "receipt"]
        return tables.flatMap { table in
            table.columns.filter { column in
                let name = Self.plain(column.name)
                return marks.contains(where: name.contains)
                    && (column.holdsNumbers || column.holdsText)
            }.map { "\(table.name).\($0.name) (\($0.type))" }
        }
    }

    /// Returns remarks on the choice of the table, which come before anything else.
    private func aboutTheChoice(_ table: CompanyTableDescription) -> [String] {
        let others = candidates.dropFirst().map(\.name.description).joined(separator: ", ")
        return [
            table.isView
                ? "# \(table.name) is a view, so only jobs with mode: check can use it." : nil,
            others.isEmpty ? nil : "# Such an id is in other tables as well: \(others).",
        ].compactMap(\.self)
    }

    private static func column(
        for names: [String], in table: CompanyTableDescription
    ) -> CompanyColumn? {
        names.lazy.compactMap { name in table.columns.first { plain($0.name) == name } }.first
    }

    /// The column of the status, where it holds words: they are worth a look.
    package var wordedStatus: (column: String, table: CompanyTableName)? {
        guard let table = best, let column = Self.column(for: Self.statusNames, in: table),
            !column.holdsNumbers
        else { return nil }
        return (column.name, table.name)
    }

    private static let commonWords: Set = [
        "active", "expired", "billing_retry", "grace_period", "revoked",
    ]

    /// Words that are there and are not among the proposed ones.
    private var unknownWords: [String] {
        let unknown = statusWords.filter { !Self.commonWords.contains($0) && !$0.isEmpty }
        guard !unknown.isEmpty else { return [] }
        let words = unknown.map { CanonicalJSON.string($0).rendered + ": N" }
        return [
            "      # The column also holds these; add each to words with Apple's number for it:",
            "      # " + words.joined(separator: ", "),
        ]
    }

    /// Where the job's own books are to be: next to the table, where that is on a server.
    private var books: String {
        PostgresAddress.isURL(url)
            ? "  # books: postgres:\(BooksPlace.defaultName)  # trueup's database, in the schema trueup of "
                + "that server; or sqlite:FILE"
            : "  books: sqlite:\(CompanySettings.defaultCopy)"
    }

    /// YAML to put into `trueup.yaml`; `nil` where no table has a column for Apple's id.
    package var text: String? {
        guard let table = best else { return nil }
        var lines = [
            "# A proposal, made from the columns of \(table.name): read every line before it is used.",
            "# docs/mappings/README.md says what each means; \"trueup doctor\" shows rows as it understands them.",
        ]
        lines += aboutTheChoice(table)
        lines += [
            "store:", "  url: \(url)", books, "  subscriptions:",
            "    table: \(Self.quoted(table.name.description))", "    columns:",
        ]
        var used: Set<String> = []
        lines += columns(Self.names, of: table, &used)
        if let column = Self.column(for: Self.statusNames, in: table), column.holdsNumbers,
            used.insert(column.name).inserted
        {
            lines.append(
                "      status: \(Self.quoted(column.name))  # \(column.type); it must hold Apple's 1 to 5"
            )
        }
        lines += Self.members(of: table)
        lines += status(of: table, &used)
        if table.hasRowPerTransaction {
            lines += [
                "    # One row for each transaction, as it seems: the latest is the subscription's.",
                table.latestColumn.map { "    latest_by: \(Self.quoted($0))" }
                    ?? "    # latest_by: COLUMN",
            ]
        }
        lines.append(Self.version(of: table, &used))
        lines.append("    insert: no  # or yes, or the values of other columns: {source: trueup}")
        if !table.isWalkable(by: Self.keyNames(in: table)) {
            lines.append(
                "    # \(table.name) has no index that begins with its key: a walk reads it whole for each page."
            )
        }
        let rest = table.columns.map(\.name).filter { !used.contains($0) }
        if !rest.isEmpty {
            lines.append("    # never read or written: \(rest.joined(separator: ", "))")
        }
        lines += purchases.map(lines(ofPurchases:)) ?? []
        // A line feed in a name of the company's would end a comment.
        return lines.map(PlainText.of).joined(separator: "\n") + "\n"
    }

    private static func keyNames(in table: CompanyTableDescription) -> [String] {
        names.filter { MappedTable.subscriptions.key.contains(.subscription($0.field)) }
            .compactMap { column(for: $0.names, in: table)?.name }
    }

    /// The mapping of a table that seems to hold one-time purchases: as comments, because it may hold those
    /// of other stores, too.
    private func lines(ofPurchases table: CompanyTableDescription) -> [String] {
        var used: Set<String> = []
        let lines =
            [
                "  purchases:", "    table: \(Self.quoted(table.name.description))", "    columns:",
            ] + columns(Self.namesOfPurchases, of: table, &used) + [
                Self.version(of: table, &used), "    insert: no",
            ]
        return [
            "  # \(table.name) seems to hold one-time purchases. If all of them are Apple's, remove the first",
            "  # \"# \" of each line below to have them checked as well:",
        ] + lines.map { "  # " + $0.dropFirst(2) }
    }

    /// A line for each column of trueup's: what it is mapped to, or that it is not kept.
    private func columns<Field: RowColumn>(
        _ names: [(field: Field, names: [String])], of table: CompanyTableDescription,
        _ used: inout Set<String>
    ) -> [String] {
        names.map { field, names in
            guard let column = Self.column(for: names, in: table), used.insert(column.name).inserted
            else { return cancellation(as: field, in: table) ?? Self.absent(field.rawValue) }
            guard field.form != .time || column.type != "date" else {
                return
                    "      # \(field.rawValue): \(column.name) holds days, and a time is needed; "
                    + "nothing is checked by it"
            }
            return "      \(field.rawValue): \(mapped(column, as: field.form))  # \(column.type)"
        }
    }

    /// A column that a person has to judge, as a comment.
    private func cancellation<Field: RowColumn>(
        as field: Field, in table: CompanyTableDescription
    ) -> String? {
        guard field.rawValue == SubscriptionField.revocationDate.rawValue,
            let column = Self.column(for: Self.namesOfCancellation, in: table),
            column.type != "date"
        else { return nil }
        return "      # \(field.rawValue): \(mapped(column, as: .time))  # \(column.type); only if "
            + "it is the date of a refund, and not of a renewal that was turned off: runs correct it"
    }

    private static func version(
        of table: CompanyTableDescription, _ used: inout Set<String>
    ) -> String {
        guard let version = column(for: versionNames, in: table),
            used.insert(version.name).inserted
        else { return "    # version: COLUMN  # a number that every write raises, if there is one" }
        return "    version: \(quoted(version.name))  # raised by every write?"
    }

    private static func absent(_ field: String) -> String {
        switch field {
        case "bundle_id": "      bundle_id: {constant: com.example.app}  # of your one app"
        case "environment": "      environment: {constant: production}"
        default: "      # \(field): not kept; nothing is checked by it"
        }
    }

    private func status(of table: CompanyTableDescription, _ used: inout Set<String>) -> [String] {
        guard let column = Self.column(for: Self.statusNames, in: table) else {
            return ["    # status: no column was recognized; it is required"]
        }
        used.insert(column.name)
        guard !column.holdsNumbers else { return [] }
        return [
            "    status:  # \(column.type); Apple's: 1 active, 2 expired, 3 billing retry, 4 grace, 5 revoked",
            "      column: \(Self.quoted(column.name))",
            "      words: {active: 1, expired: 2, billing_retry: 3, grace_period: 4, revoked: 5}",
            "      # write: {3: expired}  # the word to write for a number without one of its own",
        ] + unknownWords
    }

    /// A JSON column may hold what no column of its own does.
    private static func members(of table: CompanyTableDescription) -> [String] {
        table.columns.filter { $0.type.contains("json") }.map { column in
            "      # product_id: {column: \(quoted(column.name)), path: productId}  # \(column.type): "
                + "a member can be read, such as one of Apple's last payload"
        }
    }

    private func mapped(_ column: CompanyColumn, as form: FieldForm) -> String {
        let name = Self.quoted(column.name)
        switch form {
        case .text:
            let isNumber = column.holdsNumbers
            if isNumber { return "{column: \(name), form: integer}" }
            if column.type == "binary(16)" { return "{column: \(name), form: uuid-binary}" }
            return column.type == "uuid" ? "{column: \(name), form: uuid}" : name
        case .integer:
            return column.type.contains("bool") || column.type == "tinyint(1)"
                ? "{column: \(name), form: boolean}" : name
        case .time:
            if column.type.contains("with time zone") || column.type == "timestamptz"
                || MySQLAddress.isURL(url) && column.type.hasPrefix("timestamp")
            {
                return "{column: \(name), form: timestamptz}"
            }
            if column.type.contains("without time zone") || column.type == "timestamp"
                || column.type.hasPrefix("datetime")
            {
                return "{column: \(name), form: timestamp, zone: UTC}"
            }
            if column.holdsNumbers {
                let plain = Self.plain(column.name)
                if ["expires", "expiry", "expiration"].contains(plain) {
                    return "{column: \(name), form: seconds}  # or milliseconds?"
                }
                return "{column: \(name), form: milliseconds}"
                    + (plain.hasSuffix("ms") ? "" : "  # or seconds?")
            }
            return "{column: \(name), form: timestamptz}"
        }
    }

    /// A name that YAML could take for something else, in quotes, with escapes that YAML reads.
    private static func quoted(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy(Self.plainBytes.contains)
        guard isPlain, name.utf8.first.map({ $0 > UInt8(ascii: "9") }) ?? false else {
            return PlainText.ofJSON(CanonicalJSON.string(name).rendered)
        }
        return name
    }
}

extension CompanyColumn {
    fileprivate var holdsText: Bool {
        ["text", "char", "clob", "uuid"].contains(where: type.contains) || type.isEmpty
    }

    fileprivate var holdsNumbers: Bool {
        ["int", "serial", "numeric", "decimal"].contains(where: type.contains)
    }
}

extension CompanyTableDescription {
    /// Whether any index keeps rows apart: a copy by `CREATE TABLE … AS SELECT` has none.
    fileprivate var hasUniqueKey: Bool {
        !primaryKey.isEmpty || indexes.contains(where: \.isUnique)
    }

    /// Whether a transaction id tells its rows apart, and Apple's original one does not.
    fileprivate var hasRowPerTransaction: Bool {
        let unique = [primaryKey] + indexes.filter(\.isUnique).map(\.columns)
        func tellsApart(_ names: [String]) -> Bool {
            unique.contains { $0.count == 1 && names.contains(plain($0[0])) }
        }
        return tellsApart(["transactionid"])
            && !tellsApart(["originaltransactionid", "originalid", "otid", "appleid"])
    }

    /// The time that is greatest in the latest row.
    fileprivate var latestColumn: String? {
        ["expiresms", "expiresat", "expiresdate", "expires", "purchasedat"].lazy
            .compactMap { name in columns.first { plain($0.name) == name }?.name }.first
    }

    private func plain(_ name: String) -> String { name.lowercased().filter { $0 != "_" } }
}
