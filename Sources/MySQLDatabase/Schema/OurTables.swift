package import ServerConnections
package import Subscriptions

/// The tables that trueup has next to the company's, in the database of `store.url`.
///
/// Entries of the ledger are numbered by the books that write them, so that several books have
/// their entries next to each other.
struct OurTable: Hashable, Sendable {
    let name: String
    /// Each is a transaction of its own: in MySQL it would end one that is open.
    let columns: String
    /// The rights that a job which writes needs, besides `CREATE` where the table is missing.
    let rights: [String]

    static let ledger = OurTable(
        name: "trueup_corrections",
        columns: """
            books VARCHAR(191) NOT NULL, entry BIGINT NOT NULL, digest VARCHAR(128) NOT NULL,
            run_id VARCHAR(255) NOT NULL, written_at BIGINT NOT NULL, content LONGTEXT NOT NULL,
            PRIMARY KEY (books, entry)
            """, rights: ["SELECT", "INSERT"])

    /// Where each database of trueup's was when it last took leases; its row is held meanwhile.
    static let books = OurTable(
        name: "trueup_books",
        columns: "books VARCHAR(191) NOT NULL PRIMARY KEY, place TEXT NOT NULL",
        rights: ["SELECT", "INSERT", "UPDATE"])

    /// The worker that works on an app, with a number that rises with every holder.
    static let leases = OurTable(
        name: "trueup_leases",
        columns: """
            bundle_id VARCHAR(255) NOT NULL, environment VARCHAR(32) NOT NULL,
            job VARCHAR(191) NOT NULL, books VARCHAR(191) NOT NULL, place TEXT NOT NULL,
            holder TEXT NOT NULL, fence BIGINT NOT NULL, taken_at DATETIME(3) NOT NULL,
            expires_at DATETIME(3) NOT NULL, PRIMARY KEY (bundle_id, environment, job)
            """, rights: ["SELECT", "INSERT", "UPDATE"])

    /// The calls to Apple of the last hour, by all workers, in buckets of five seconds.
    static let calls = OurTable(
        name: "trueup_calls",
        columns: """
            bundle_id VARCHAR(255) NOT NULL, environment VARCHAR(32) NOT NULL,
            endpoint VARCHAR(100) NOT NULL, second BIGINT NOT NULL, calls BIGINT NOT NULL,
            PRIMARY KEY (bundle_id, environment, endpoint, second)
            """, rights: ["SELECT", "INSERT", "UPDATE", "DELETE"])

    /// The last 429 of each app and endpoint; its row is held while calls are booked.
    static let refusals = OurTable(
        name: "trueup_refusals",
        columns: """
            bundle_id VARCHAR(255) NOT NULL, environment VARCHAR(32) NOT NULL,
            endpoint VARCHAR(100) NOT NULL, resumes_at DATETIME(3), rate_share DOUBLE,
            PRIMARY KEY (bundle_id, environment, endpoint)
            """, rights: ["SELECT", "INSERT", "UPDATE"])

    /// A line for each run of each worker; counts and money are lines of words.
    static let runs = OurTable(
        name: "trueup_runs",
        columns: """
            books VARCHAR(191) NOT NULL, run_id VARCHAR(191) NOT NULL, worker TEXT NOT NULL,
            apps TEXT NOT NULL, job VARCHAR(191) NOT NULL, mode VARCHAR(32) NOT NULL,
            started DATETIME(3) NOT NULL, ended DATETIME(3), outcome VARCHAR(100),
            exit_status SMALLINT, headline TEXT, report TEXT, matched BIGINT NOT NULL,
            discrepant BIGINT NOT NULL, filled BIGINT NOT NULL, undecided TEXT NOT NULL,
            excluded TEXT NOT NULL, corrected BIGINT, findings_open BIGINT, findings_new BIGINT,
            money TEXT, PRIMARY KEY (books, run_id), KEY (started)
            """, rights: ["SELECT", "INSERT", "UPDATE", "DELETE"])

    static let all = [ledger, books, leases, calls, refusals, runs]

    var definition: String {
        "CREATE TABLE IF NOT EXISTS \(name) (\(columns)) ENGINE = InnoDB "
            + "DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    }

    /// Statements that need the rights and change no row.
    var trials: [String] {
        let column = columns.prefix { $0 != " " }
        return rights.map { right in
            switch right {
            case "INSERT": "INSERT INTO \(name) SELECT * FROM \(name) WHERE 1 = 0"
            case "UPDATE": "UPDATE \(name) SET \(column) = \(column) WHERE 1 = 0"
            case "DELETE": "DELETE FROM \(name) WHERE 1 = 0"
            default: "DO (SELECT count(*) FROM \(name) WHERE 1 = 0)"
            }
        }
    }

    /// Whether a failure says that there is no such table yet.
    static func isMissing(_ failure: MySQLFailure) -> Bool { failure.number == 1146 }
}

extension OurTable {
    /// A time in milliseconds since 1970, as a value of a `DATETIME(3)` in UTC.
    static let time = "TIMESTAMPADD(MICROSECOND, ? * 1000, '1970-01-01')"

    /// A `DATETIME(3)` in UTC as milliseconds since 1970.
    static func milliseconds(_ column: String) -> String {
        "CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', \(column)) DIV 1000 AS CHAR)"
    }

    /// The server's clock when a statement begins, by which workers count.
    static func clock(in session: any MySQLSession) throws(MySQLFailure) -> Timestamp {
        let answer = try session.run(
            "SELECT CAST(ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS CHAR)", [])
        guard let milliseconds = answer.first.flatMap({ Int64($0) }) else {
            throw MySQLFailure(.other, words: "the server returned no time")
        }
        return Timestamp(unixMilliseconds: milliseconds)
    }
}

extension MySQLLink {
    mutating func facts() throws(StoreError) -> ServerFacts {
        try perform("asking for the server's version") { session throws(MySQLFailure) in
            try ServerFacts(session)
        }
    }

    /// Makes the tables where they are missing, on a server that a run can write to.
    ///
    /// - Throws: `StoreError` where it is a replica, may only be read, or refuses a table.
    package mutating func makeOurTables() throws(StoreError) {
        let facts = try facts()
        let place = connector.address.description
        if let obstacle = facts.obstacleToWriting {
            throw .unavailable(
                "The server of \(place): \(obstacle). Nothing was read or written. Then run the "
                    + "job again.")
        }
        if let obstacle = facts.obstacleOfLog {
            throw .schema("The server of \(place): \(obstacle). Nothing was read or written.")
        }
        try perform("making trueup's tables") { session throws(MySQLFailure) in
            for table in OurTable.all {
                do throws(MySQLFailure) {
                    _ = try session.run("SELECT 1 FROM \(table.name) WHERE 1 = 0", [])
                } catch {
                    // Without the right to make tables, or to read this one, it may be there.
                    guard OurTable.isMissing(error) else { throw error }
                    try session.execute(table.definition)
                }
            }
        }
    }

    /// Whether tables are there and may be written at present.
    mutating func mayUse(_ tables: [OurTable]) throws(StoreError) -> Bool {
        try perform("looking for trueup's tables") { session throws(MySQLFailure) in
            do throws(MySQLFailure) {
                for trial in tables.flatMap(\.trials) { try session.execute(trial) }
                return true
            } catch {
                guard [.schema, .forbidden, .readOnly].contains(error.meaning) else { throw error }
                return false
            }
        }
    }
}

extension SharedSession where Link == MySQLLink {
    /// A server that is away is not waited for: what is done here is done again, or only a note.
    ///
    /// - Parameters:
    ///   - connector: Opens it.
    ///   - pauses: Those before each further try at a server that has answered before.
    package convenience init(_ connector: MySQLConnector, pauses: [UInt32] = [50, 200, 800]) {
        self.init(MySQLLink(connector, limits: MySQLLimits(), pauses: pauses))
    }
}
