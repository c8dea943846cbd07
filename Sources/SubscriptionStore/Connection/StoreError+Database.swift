import GRDB
package import Subscriptions

extension StoreError {
    /// Translates what SQLite says; nothing else of this module looks at result codes' meaning.
    ///
    /// - Parameters:
    ///   - error: What GRDB threw; a `StoreError` passes through.
    ///   - doing: What was being done, to go on after "while".
    package init(_ error: any Error, doing: String) {
        guard let error = error as? DatabaseError else {
            self = (error as? StoreError) ?? .inconsistent("While \(doing): \(error).")
            return
        }
        let said = Self.quote(error)
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self = .busy(
                "Another program kept the database locked while \(doing); nothing of this step was "
                    + "written. Find the program that holds a transaction open and run again. \(said)"
            )
        case .SQLITE_FULL:
            self = .notWritten(
                "The disk is full while \(doing); nothing of this step was written. Make room and "
                    + "run again: the run goes on where it stopped. \(said)")
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH:
            self = .notWritten(
                "The database may not be written while \(doing); nothing of this step was written. "
                    + "Check the rights on the file, on its folder and on the file system. \(said)")
        case .SQLITE_IOERR:
            self = .notWritten(
                "The disk failed or is full while \(doing); nothing of this step was written. Check "
                    + "the disk and its free space, then run again. \(said)")
        case .SQLITE_CANTOPEN:
            self = .unavailable(
                "The database cannot be opened while \(doing). Check the path and the rights on "
                    + "its folder. \(said)")
        case .SQLITE_NOTADB:
            self = .schema(
                "The file is not an SQLite database. Check `store.url`. If it was one, it is damaged "
                    + "and the ledger is lost: put a backup in its place, then declare that with "
                    + "`trueup restored --reason TEXT` (docs/backup.md). A copy of books on a server "
                    + "is only to be deleted. \(said)")
        case .SQLITE_CORRUPT:
            self = .unavailable(
                "The database is damaged; nothing was written. What it held of the ledger is lost, "
                    + "as far as no backup has it: the ledger is lost, the reports are not. Move the "
                    + "file away, put a backup in its place or rebuild it with `trueup init` and "
                    + "`trueup import`, then declare that with `trueup restored --reason TEXT` "
                    + "(docs/backup.md). A copy of books on a server is only to be deleted. \(said)"
            )
        case .SQLITE_SCHEMA:
            self = .schema("The schema changed while \(doing). \(said)")
        case .SQLITE_ERROR where Self.namesMissingPart(error.message):
            self = .schema(
                "The database's tables are not as expected while \(doing); nothing of this step "
                    + "was written. Undo the change of the schema. \(said)")
        default:
            self = .inconsistent(
                "SQLite refused a statement while \(doing); nothing of this step was written. "
                    + said)
        }
    }

    /// Why the books could not commit what the company's database had committed just before.
    ///
    /// - Parameters:
    ///   - error: What SQLite said.
    ///   - entries: Of the ledger there.
    init(_ error: DatabaseError, behind entries: ClosedRange<Int64>) {
        self = .notWritten(
            "The books could not be written after your database had committed corrections "
                + "(\(Self.words(entries)) of the ledger there): these stand, and nothing else of "
                + "this step was written. See whether the disk of the books is full or has failed, "
                + "then run again: the run first takes over what the books lack. "
                + "\(Self.quote(error))")
    }

    /// Why a copy could not commit what the server of the books has committed.
    init(_ error: DatabaseError, ofCopyAt path: String, doing: String) {
        self = .notWritten(
            "The copy of the books at \(path) could not be written while \(doing). The step stands on "
                + "the server, and nothing is lost. See whether the disk is full or has failed, then "
                + "run again: the copy is made anew. \(Self.quote(error))")
    }

    /// The same as for SQLite where the server that the books stand on did not commit them.
    func behind(_ entries: ClosedRange<Int64>) -> StoreError {
        let standing =
            "\(description) Your database had committed corrections just before "
            + "(\(Self.words(entries)) of the ledger there): these stand, and the next run first "
            + "takes over what the books lack."
        return switch self {
        case .unavailable: .unavailable(standing)
        case .notWritten: .notWritten(standing)
        case .busy: .busy(standing)
        case .schema: .schema(standing)
        case .inconsistent: .inconsistent(standing)
        case .stopped: .stopped(standing)
        }
    }

    private static func words(_ entries: ClosedRange<Int64>) -> String {
        entries.count == 1
            ? "entry \(entries.lowerBound)"
            : "entries \(entries.lowerBound) to \(entries.upperBound)"
    }

    var isBusy: Bool {
        if case .busy = self { true } else { false }
    }

    /// SQLite's words and the statement, without its arguments: they are personal data.
    static func quote(_ error: DatabaseError) -> String {
        let code = error.extendedResultCode.rawValue
        let words = "(SQLite \(code): \(error.message ?? "no message"))"
        guard let sql = error.sql else { return words }
        return words + " SQL: " + sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func namesMissingPart(_ message: String?) -> Bool {
        guard let message else { return false }
        return message.hasPrefix("no such") || message.contains("has no column")
    }
}
