import Foundation
import GRDB
import TestSupport
import Testing

/// Nights over a company's rows behind a program of its own: the examples of `docs/stores`.
///
/// `TRUEUP_EVERY_STEP=1` disturbs every line and not only some.
@Suite(.enabled(if: ProgramNight.pythonIsHere, "needs python3"), .timeLimit(.minutes(30)))
struct `A store by program` {
    private static let statuses: Set<Int32> = [0, 2]

    @Test(arguments: Shop.here)
    func `is corrected in one night, and put back by undo`(shop: Shop) async throws {
        let night = try ProgramNight(customers: 20, in: shop)
        let place = night.prepared
        let before = try night.table(of: place)
        #expect(try await !night.differencesFromApple(in: place).isEmpty)
        let first = try place.run(ProgramNight.command)
        try #require(Self.statuses.contains(first.status), "\(first.output)\(first.errors)")
        let corrected = try night.table(of: place)
        #expect(corrected != before)
        #expect(try await night.differencesFromApple(in: place).isEmpty)
        #expect(
            first.output.contains("Not checked, because \(night.title(of: place)) does not store"))
        let state = try night.state(of: place)
        #expect(!state.ledgerThere.isEmpty && state.ledgerThere == state.ledgerHere)
        let run = try night.summary(of: place)["run_id"] as? String
        let doctor = try place.run(["doctor"])
        #expect(
            doctor.output.contains("answers as \"\(night.title(of: place))\""), "\(doctor.output)")
        #expect(doctor.output.contains("the ledger there has the newest entry"), "\(doctor.output)")
        let second = try place.run(ProgramNight.command)
        #expect(Self.statuses.contains(second.status), "\(second.errors)")
        #expect(try night.table(of: place) == corrected)
        #expect(try night.state(of: place).ledgerThere == state.ledgerThere)
        let undo = try place.run(["undo", try #require(run), "--execute"])
        #expect([0, 2].contains(undo.status), "\(undo.output)\(undo.errors)")
        #expect(try night.table(of: place) == before)
        let verified = try place.run(["verify", "--database"])
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test(arguments: Shop.here)
    func `is corrected as a table of SQLite is that trueup reads itself`(shop: Shop) throws {
        let night = try ProgramNight(customers: 20, in: shop)
        let place = night.prepared
        let mapped = try place.copy()
        defer { mapped.remove() }
        try night.map(mapped)
        #expect(try Self.statuses.contains(place.run(ProgramNight.command).status))
        #expect(try Self.statuses.contains(mapped.run(ProgramNight.command).status))
        #expect(try night.table(of: place) == night.rows(inFileOf: mapped))
    }

    static let kills = ["program", "trueup"].flatMap { side in
        ["before", "after", "behind"].map { (side: side, when: $0) }
    }

    @Test(arguments: Shop.here, kills)
    func `that loses either side at any line ends as an undisturbed one`(
        shop: Shop, kill: (side: String, when: String)
    ) throws {
        let (side, when) = kill
        let night = try ProgramNight(customers: 5, in: shop)
        let whole = try night.copy()
        defer { whole.remove() }
        let undisturbed = try whole.run(ProgramNight.command)
        try #require(Self.statuses.contains(undisturbed.status), "\(undisturbed.errors)")
        let lines = try night.lines(of: whole)
        try #require(lines.count(where: { $0 == "write" }) > 2)
        let state = try night.state(of: whole)
        #expect(state.ledgerThere == state.ledgerHere)
        let every = ProcessInfo.processInfo.environment["TRUEUP_EVERY_STEP"] != nil
        let firstWrite = lines.firstIndex(of: "write") ?? 0
        // What begins a run, then a write with the lines around it, and the last line; of the slower
        // imitation only the write.
        let writes = [firstWrite, firstWrite + 1, firstWrite + 2]
        let tried =
            every
            ? Array(1...lines.count)
            : shop == .sqlite
                ? [1, 2, 3] + writes + [firstWrite + 4, lines.count] : [firstWrite + 1]
        for line in tried {
            let words = "\(side) killed \(when) line \(line), \(lines[line - 1])"
            let copy = try night.copy()
            defer { copy.remove() }
            try night.disturb(copy, side, at: line, when)
            let disturbed = try copy.run(ProgramNight.command)
            let allowed: Set<Int32> =
                side == "trueup" ? [137, 0, 2] : [69, undisturbed.status]
            #expect(allowed.contains(disturbed.status), "\(words): \(disturbed.errors)")
            if side == "program", disturbed.status == 69 {
                let said = disturbed.output + disturbed.errors
                #expect(
                    said.contains("store program") || said.contains("was lost"), "\(words): \(said)"
                )
            }
            let left = try night.state(of: copy)
            #expect(left.ledgerThere.starts(with: left.ledgerHere), "\(words)")
            let again = try copy.run(ProgramNight.command)
            #expect(Self.statuses.contains(again.status), "\(words): \(again.errors)")
            let differences = try night.state(of: copy).differences(from: state)
            #expect(differences.isEmpty, "\(words): \(differences)")
            let verified = try copy.run(["verify", "--database"])
            #expect(verified.status == 0, "\(words): \(verified.output)\(verified.errors)")
        }
    }

    @Test(arguments: Shop.here)
    func `does not overwrite what another program wrote meanwhile`(shop: Shop) throws {
        let night = try ProgramNight(customers: 5, in: shop)
        let whole = try night.copy()
        defer { whole.remove() }
        #expect(try Self.statuses.contains(whole.run(ProgramNight.command).status))
        let place = night.prepared
        try night.disturb(place, "writer", at: 0, "before")
        let disturbed = try place.run(ProgramNight.command)
        #expect(disturbed.status == 3, "\(disturbed.errors)")
        let undecided = try String(
            contentsOf: place.folder.appendingPathComponent("reports/latest/undecided.csv"),
            encoding: .utf8)
        #expect(undecided.contains("changed_during_run"))
        #expect(try night.table(of: place).contains { $0.contains("written by another") })
        try night.disturb(place, "none", at: -1, "before")
        #expect(try Self.statuses.contains(place.run(ProgramNight.command).status))
        #expect(try night.table(of: place) == night.table(of: whole))
        #expect(try place.run(["verify", "--database"]).status == 0)
    }

    @Test(arguments: Shop.here)
    func `that cannot tell whether it committed is started again and asked`(shop: Shop) throws {
        let night = try ProgramNight(customers: 5, in: shop)
        let whole = try night.copy()
        defer { whole.remove() }
        #expect(try Self.statuses.contains(whole.run(ProgramNight.command).status))
        let place = night.prepared
        try night.disturb(place, "unknown", at: 0, "before")
        let run = try place.run(ProgramNight.command)
        #expect(Self.statuses.contains(run.status), "\(run.errors)")
        #expect(try night.state(of: place).differences(from: night.state(of: whole)).isEmpty)
        let lines = try night.lines(of: place)
        #expect(lines.count(where: { $0 == "hello" }) == lines.count(where: { $0 == "write" }) + 1)
    }

    @Test func `gets the variables that the settings name, and is heard in the log`() throws {
        let night = try ProgramNight(customers: 5)
        let place = night.prepared
        try night.writeSettings(of: place, url: nil, "environment: [SHOP_SECRET]")
        let run = try BuiltExecutable("trueup").run(
            ProgramNight.command, in: place.folder,
            environment: ["SHOP_SECRET": "known", "OTHER_SECRET": "unknown"])
        #expect(Self.statuses.contains(run.status), "\(run.errors)")
        let log = try String(
            contentsOf: place.folder.appendingPathComponent("reports/latest/run.log.jsonl"),
            encoding: .utf8)
        let folder = place.folder.lastPathComponent
        #expect(log.contains("with known None \(folder)"), "\(log)")
        #expect(!log.contains("\u{1B}"))
    }

    @Test func `that has a fault of its own ends with 70 and its name, and leaves a report`() throws
    {
        let night = try ProgramNight(customers: 5)
        let place = night.prepared
        try night.disturb(place, "internal", at: -1, "before")
        let run = try place.run(ProgramNight.command)
        #expect(run.status == 70)
        #expect(run.errors.contains("disturbed_store.py"), "\(run.errors)")
        #expect(run.errors.contains("a bug of the shop"), "\(run.errors)")
        #expect(try night.summary(of: place)["outcome"] != nil)
    }

    @Test func `is not started without a variable that the settings name`() throws {
        let night = try ProgramNight(customers: 5)
        let place = night.prepared
        try night.writeSettings(of: place, url: nil, "environment: [NOT_SET_ANYWHERE]")
        #expect(try place.run(["status"]).status == 0)
        let run = try place.run(ProgramNight.command)
        #expect(run.status == 78)
        #expect(run.errors.contains("NOT_SET_ANYWHERE"), "\(run.errors)")
    }

    @Test func `that is not there ends with 69 and leaves a report`() throws {
        let night = try ProgramNight(customers: 5)
        let place = night.prepared
        try night.writeSettings(of: place, url: "program:./gone --project shop")
        let run = try place.run(ProgramNight.command)
        #expect(run.status == 69, "\(run.errors)")
        #expect(run.errors.contains("could not be started"), "\(run.errors)")
        #expect(try night.summary(of: place)["outcome"] != nil)
        #expect(try place.run(["doctor"]).status == 69)
    }

    @Test(arguments: [
        ("subscriptions: {}", "store.subscriptions"),
        ("entitlements: rights", "store.entitlements"),
        ("books: postgres:main", "store.books"), ("timeout: 0s", "store.timeout"),
        ("environment: [a b]", "environment"),
    ])
    func `is refused with settings that do not fit`(line: String, key: String) throws {
        let night = try ProgramNight(customers: 5)
        let place = night.prepared
        try night.writeSettings(of: place, url: "program:./gone", line)
        let run = try place.run(["config", "check"])
        #expect(run.status == 78, "\(run.output)\(run.errors)")
        #expect((run.output + run.errors).contains(key), "\(run.errors)")
    }
}

/// Where the rows behind a store program are.
enum Shop: String, CaseIterable, CustomTestStringConvertible {
    case sqlite = "SQLite"
    case dynamodb = "an imitation of DynamoDB"

    static var here: [Shop] { OwnMoto.isInstalled ? allCases : [.sqlite] }

    var testDescription: String { rawValue }
}

/// A night over the rows of the simulated company behind an example of `docs/stores`.
struct ProgramNight {
    static let command = ["run", "nightly"]
    static let pythonIsHere = (try? python(["-c", "import sqlite3"], in: nil)) == 0
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    static let stores =
        tests.deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("docs/stores").path
    static let programs = tests.appendingPathComponent("Programs").path
    private static let columns = [
        "status", "auto_renew_status", "expires_date", "grace_period_expires_date",
        "revocation_date", "customer_id", "product_id", "auto_renew_product_id",
        "latest_transaction_id", "in_app_ownership_type", "web_order_line_item_id",
    ]

    let place: Workplace
    private let moto: OwnMoto?

    /// - Parameters:
    ///   - customers: How many the company has; more than half of their rows drifted.
    ///   - shop: Where its rows are.
    /// - Throws: When it cannot be made ready.
    init(customers: Int, in shop: Shop = .sqlite) throws {
        moto = shop == .dynamodb ? try OwnMoto() : nil
        let simulator = try RunningSimulator([
            "--customers", "\(customers)", "--drift", "0.6", "--seed", "5",
        ])
        place = try Workplace(on: simulator)
        try place.writeJob("nightly", "settle: 0s")
        let prepared = PreparedPlace(folder: place.folder.url)
        try writeSettings(of: prepared, url: nil)
        // The program makes its table.
        let made = try Self.python(
            [Self.stores + "/sqlite_store.py", "shop.sqlite"], in: place.folder.url)
        try #require(made == 0)
        let rows = try SeedRow.all(of: #require(simulator.ready.tableFile), isBare: false)
        try file(of: prepared).write { db in
            let key = ["bundle_id", "environment", "original_transaction_id"]
            let marks = Array(repeating: "?", count: 14).joined(separator: ", ")
            for row in rows {
                let values = (key + Self.columns).map { column -> (any DatabaseValueConvertible)? in
                    let text = row[column]
                    guard !text.isEmpty else { return nil }
                    guard column.hasSuffix("_date") else { return text }
                    return SeedRow.date(text)
                }
                try db.execute(
                    sql:
                        "INSERT OR IGNORE INTO subscriptions (\((key + Self.columns).joined(separator: ", "))) "
                        + "VALUES (\(marks))", arguments: StatementArguments(values))
            }
        }
        try makeTable(of: prepared)
        try #require(place.run("init").status == 0)
    }

    /// DynamoDB has a table for each place, with the rows of the file.
    private func makeTable(of place: PreparedPlace) throws {
        try moto?.make(name(of: place), of: place.folder.appendingPathComponent("shop.sqlite").path)
    }

    /// A copy of what is prepared, with rows of its own; the caller removes it.
    func copy() throws -> PreparedPlace {
        let copy = try prepared.copy()
        try makeTable(of: copy)
        try writeSettings(of: copy, url: nil)
        return copy
    }

    private func name(of place: PreparedPlace) -> String {
        moto == nil ? "shop.sqlite" : place.folder.lastPathComponent
    }

    /// What the program calls its rows.
    func title(of place: PreparedPlace) -> String {
        moto == nil ? "subscriptions in SQLite" : "\(name(of: place)) on DynamoDB"
    }

    /// Runs Python with an empty standard input.
    static func python(_ arguments: [String], in folder: URL?) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3"] + arguments
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    var prepared: PreparedPlace { PreparedPlace(folder: place.folder.url) }

    func writeSettings(of place: PreparedPlace, url: String?, _ line: String = "") throws {
        let url = url ?? self.url(of: place, "none", at: -1, "before")
        let text =
            "apps:\n" + self.place.simulator.appYAML() + """
                store:
                  url: "\(url)"
                  \(line.hasPrefix("books") ? "" : "books: sqlite:trueup.sqlite")
                  \(line)
                report:
                  directory: reports

                """
        try Data(text.utf8).write(to: place.folder.appendingPathComponent("trueup.yaml"))
    }

    private func url(
        of place: PreparedPlace, _ what: String, at line: Int, _ when: String
    ) -> String {
        let variables = (moto?.environment ?? [:]).map { "\($0.key)=\($0.value) " }.joined()
        return "program:env \(variables)python3 '\(Self.programs)/disturbed_store.py' "
            + "\(name(of: place)) \(what) \(line) \(when)"
    }

    func disturb(_ place: PreparedPlace, _ what: String, at line: Int, _ when: String) throws {
        try writeSettings(of: place, url: url(of: place, what, at: line, when))
    }

    /// Lets trueup read the same table itself.
    func map(_ place: PreparedPlace) throws {
        let columns = (["bundle_id", "environment", "original_transaction_id"] + Self.columns).map {
            $0.hasSuffix("_date") ? "\($0): {column: \($0), form: milliseconds}" : "\($0): \($0)"
        }
        let text =
            "apps:\n" + self.place.simulator.appYAML() + """
                store:
                  url: sqlite:shop.sqlite
                  books: sqlite:mapped.sqlite
                  subscriptions:
                    table: subscriptions
                    columns: {\(columns.joined(separator: ", "))}
                    insert: yes
                report:
                  directory: mapped

                """
        try Data(text.utf8).write(to: place.folder.appendingPathComponent("trueup.yaml"))
        try #require(place.run(["init"]).status == 0)
    }

    private func file(of place: PreparedPlace) throws -> DatabaseQueue {
        try DatabaseQueue(path: place.folder.appendingPathComponent("shop.sqlite").path)
    }

    /// The company's rows without their versions.
    func table(of place: PreparedPlace) throws -> [String] {
        try moto?.rows(name(of: place)) ?? rows(inFileOf: place)
    }

    /// Rows that are not what the simulator says of them, unless a mistake was planted that no run
    /// corrects.
    func differencesFromApple(in place: PreparedPlace) async throws -> [String] {
        let simulator = self.place.simulator
        let file = try await self.place.folder.write(
            String(decoding: simulator.control("/_simulator/table"), as: UTF8.self),
            to: "apple.csv")
        let apple = try SeedRow.all(of: file, isBare: false).map { row in
            let texts = ["original_transaction_id", "status", "product_id", "auto_renew_status"]
            let times = ["expires_date", "revocation_date"].map { SeedRow.date(row[$0]) ?? 0 }
            return texts.map { row[$0] } + times.map(String.init)
        }
        let planted = try Planted(of: simulator).kinds
        return try table(of: place).compactMap { line in
            let values = line.split(separator: "|", omittingEmptySubsequences: false)
                .map(String.init)
            let shown =
                [0, 1, 7, 2].map { values[$0] }
                + [3, 5].map { values[$0].isEmpty ? "0" : values[$0] }
            let isLeft = !Planted.neverCorrected.isDisjoint(with: planted[values[0]] ?? [])
            return isLeft || apple.contains(shown) ? nil : line
        }
    }

    func rows(inFileOf place: PreparedPlace) throws -> [String] {
        try file(of: place).read { db in
            try MappedState.lines(
                db,
                "SELECT original_transaction_id, \(Self.columns.joined(separator: ", ")) FROM subscriptions "
                    + "ORDER BY bundle_id, environment, original_transaction_id")
        }
    }

    /// The requests that the program got.
    func lines(of place: PreparedPlace) throws -> [String] {
        try String(
            contentsOf: place.folder.appendingPathComponent(name(of: place) + ".lines"),
            encoding: .utf8
        ).split(separator: "\n").map(String.init)
    }

    func summary(of place: PreparedPlace) throws -> [String: Any] {
        let data = try Data(
            contentsOf: place.folder.appendingPathComponent("reports/latest/summary.json"))
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    struct State {
        var books: PreparedPlace.State
        var table: [String]
        var ledgerThere: [String]
        var ledgerHere: [String]

        func differences(from other: State) -> [String] {
            books.differences(from: other.books)
                + (table == other.table ? [] : ["table: \(table) and not \(other.table)"])
                + (ledgerThere == ledgerHere ? [] : ["the ledgers differ"])
        }
    }

    func state(of place: PreparedPlace) throws -> State {
        let there =
            try moto?.entries(name(of: place))
            ?? file(of: place).read { db in
                try db.tableExists("trueup_entries")
                    ? MappedState.lines(db, "SELECT number, hash FROM trueup_entries ORDER BY 1")
                    : []
            }
        let books = try DatabaseQueue(
            path: place.folder.appendingPathComponent("trueup.sqlite").path)
        defer { try? books.close() }
        let here = try books.read { db in
            try MappedState.lines(
                db,
                "SELECT entry, hash FROM trueup_ledger WHERE target_table = 'subscriptions' ORDER BY 1"
            )
        }
        return State(
            books: try place.state(), table: try table(of: place), ledgerThere: there,
            ledgerHere: here)
    }
}
