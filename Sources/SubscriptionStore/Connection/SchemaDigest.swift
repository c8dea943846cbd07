import GRDB

/// All that is ours of a database's schema, as one digest.
///
/// Opening a database asks whether its schema is whole. That nothing at all is different shows by
/// one query; only where something is, a model is made and compared part by part, which takes longer
/// than the rest of the opening. The company's own additions to our tables are such a difference.
package struct SchemaDigest: Hashable, Sendable {
    private let sha256: String

    /// The digest of the newest schema; a test says what it must be.
    package static let newest = SchemaDigest(
        sha256: "3d8d7fe9820cfba2ba2213131e5bd57f539c41d3cd41454032c782f0ecaa51b1")

    private init(sha256: String) { self.sha256 = sha256 }

    /// The digest of a model.
    package static func made(byVersion version: Int) throws -> SchemaDigest {
        try SchemaParts.model(ofVersion: version).read(SchemaDigest.init)
    }

    /// The digest of what a database has.
    init(_ db: Database) throws {
        let text = try String.fetchOne(
            db,
            sql: """
                SELECT group_concat(type || x'1F' || name || x'1F' || tbl_name || x'1F' || sql, x'1E')
                FROM (SELECT * FROM sqlite_master
                    WHERE sql IS NOT NULL AND (tbl_name IN ('subscriptions', 'transactions')
                        OR tbl_name GLOB 'trueup_*')
                    ORDER BY type, name)
                """)
        sha256 = Hexadecimal.sha256(of: (text ?? "").utf8)
    }
}

extension SchemaDigest: CustomStringConvertible {
    package var description: String { sha256 }
}
