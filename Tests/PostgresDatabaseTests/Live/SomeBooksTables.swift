import PostgresDatabase
import Subscriptions

extension BooksSchema {
    /// Two tables, as if they were all.
    static let ofTests = BooksSchema(newest: 1) { _ in [.refusals, .evidenceHeaders] }
}

extension BooksTable {
    static let refusals = BooksTable(
        name: "trueup_quota_refusals",
        columns: [
            BooksColumn(name: "bundle_id", form: .text),
            BooksColumn(name: "environment", form: .text),
            BooksColumn(name: "endpoint", form: .text),
            BooksColumn(name: "resumes_at", form: .integer),
            BooksColumn(name: "rate_share", form: .real),
        ], key: ["bundle_id", "environment", "endpoint"])

    static let evidenceHeaders = BooksTable(
        name: "trueup_evidence_headers",
        columns: [
            BooksColumn(name: "header_id", form: .integer),
            BooksColumn(name: "digest", form: .text),
            BooksColumn(name: "segment", form: .blob),
        ], key: ["header_id"])
}
