import Foundation
import GRDB
import TestSupport
import Testing

/// A service that reads the table of entitlements and nothing else, at any hour between two runs.
///
/// It is held against the simulated store's state at the moment of the last run: what a customer held
/// then says until when each entitlement lasts. What happens after that, no run could know.
@Suite(.timeLimit(.minutes(30))) struct `What services are told of entitlements` {
    /// Where the rows are, and which table the service reads.
    enum Table: String, CaseIterable, CustomTestStringConvertible {
        case ours = "trueup_entitlements"
        case theirs = "rights of the company's own"

        var testDescription: String { rawValue }
    }

    private static let bought = """
          com.example.app.themes: {kind: non-consumable, grants: [themes, member]}
          com.example.app.season.pass: {kind: non-renewing, grants: [season, member], duration: P90D}
          com.example.app.coins.100: {kind: consumable}

        """
    private static var catalogue: String {
        `A service that reads the entitlements`.catalogue.trimmingCharacters(in: .newlines) + "\n"
            + bought
    }

    private static func grants(of product: String) -> [String] {
        catalogue.split(separator: "\n").first { $0.contains(" \(product):") }
            .flatMap { $0.firstMatch(of: /grants: \[([^\]]*)\]/)?.1 }
            .map { $0.split(separator: ", ").map(String.init) } ?? []
    }

    /// Several groups, a family, refunds of periods and of what was bought once.
    private static let scenario = """
        customers:
          - name: anna
            life:
              - {at: -40d, buy: video.basic.monthly, label: video}
              - {at: -20d, buy: news.monthly}
              - {at: -30d, buy: themes, label: themes}
              - {at: 5d, refund: 100, of: themes}
              - {at: 9d, refund: 100, of: video}
          - name: bert
            life:
              - {at: -20d, buy: news.weekly}
              - {at: -7d, buy: season.pass, label: season}
              - {at: 12d, refund: 100, of: season}
          - name: cora
            life:
              - {at: -50d, buy: storage.large.monthly}
              - {at: -3d, share_with: bert}
              - {at: 3d, buy: themes}

        """

    private typealias Until = [String: Int64]

    private struct Place {
        let work: Workplace
        let table: Table

        var shop: String { work.folder.url.appendingPathComponent("shop.sqlite").path }

        func csv(_ name: String) async throws -> [[String: String]] {
            let text = String(
                decoding: try await work.simulator.control("/_simulator/" + name), as: UTF8.self)
            let lines = text.split(whereSeparator: \.isNewline).map {
                $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
            let header = try #require(lines.first)
            return lines.dropFirst().map { Dictionary(uniqueKeysWithValues: zip(header, $0)) }
        }

        func now() async throws -> String {
            let clock = try await work.simulator.control("/_simulator/clock")
            let object = try JSONSerialization.jsonObject(with: clock) as? [String: Any]
            return try #require(object?["now"] as? String)
        }

        private func rows(_ query: String) throws -> [Row] {
            let path = table == .ours ? work.folder.url.path + "/trueup.sqlite" : shop
            let database = try DatabaseQueue(path: path)
            defer { try? database.close() }
            return try database.read { try Row.fetchAll($0, sql: query) }
        }

        /// Everything that the service knows: until when each customer may use what.
        func told() throws -> Until {
            let name = table == .ours ? "trueup_entitlements" : "rights"
            var told: Until = [:]
            let found = try rows(
                """
                SELECT customer_id, entitlement, expires_date FROM \(name)
                WHERE bundle_id = 'com.example.app' AND environment = 'Production'
                """)
            for row in found {
                let customer: String = row[0]
                let entitlement: String = row[1]
                told["\(customer): \(entitlement)"] = row[2] ?? Int64.max
            }
            return told
        }

        /// The subscriptions that the company's table holds.
        func held() throws -> Set<String> {
            let query =
                table == .ours
                ? "SELECT original_transaction_id FROM subscriptions" : "SELECT otid FROM subs"
            return Set(try rows(query).map { $0[0] })
        }
    }

    private static func milliseconds(_ text: String?) -> Int64? {
        guard let text, !text.isEmpty else { return nil }
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let date = (try? Date(text, strategy: fractional)) ?? (try? Date(text, strategy: .iso8601))
        return date.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
    }

    /// Until when each customer may use what, by all that they hold at this moment.
    private func truth(_ place: Place) async throws -> Until {
        let held = try place.held()
        var truth: Until = [:]
        func note(_ row: [String: String], until: Int64) {
            for name in Self.grants(of: row["product_id"] ?? "") {
                let key = "\(row["customer_id"] ?? ""): \(name)"
                truth[key] = max(truth[key] ?? .min, until)
            }
        }
        for row in try await place.csv("table")
        where held.contains(row["original_transaction_id"] ?? "") {
            let end = try #require(Self.milliseconds(row["expires_date"]))
            switch row["status"] {
            case "1": note(row, until: end)
            case "4":
                note(
                    row, until: max(end, Self.milliseconds(row["grace_period_expires_date"]) ?? end)
                )
            default: continue
            }
        }
        guard place.table == .ours else { return truth }
        for row in try await place.csv("purchases")
        where row["revocation_date"]?.isEmpty ?? true
            || !["", "100000"].contains(row["revocation_percentage"] ?? "")
        {
            let bought = try #require(Self.milliseconds(row["purchase_date"]))
            let isForLife = row["product_id"] == "com.example.app.themes"
            note(row, until: isForLife ? .max : bought + 90 * 86_400_000)
        }
        return truth
    }

    private func place(_ table: Table, seed: String) async throws -> Place {
        let folder = try TemporaryFolder()
        let scenario = try folder.write(Self.scenario, to: "scenario.yaml")
        let simulator = try RunningSimulator([
            "--customers", "30", "--seed", seed, "--scenario", scenario, "--now",
            "2026-09-01T03:00:00Z",
        ])
        let work = try Workplace(on: simulator)
        let place = Place(work: work, table: table)
        let events = work.folder.url.appendingPathComponent("events").path
        let tail = """
            catalogue: catalogue.yaml
            tell:
              command: [/usr/bin/tee, -a, \(events)]

            """
        try work.folder.write(Self.catalogue, to: "catalogue.yaml")
        try work.writeJob(
            "nightly", "settle: 0s\nhistory: always",
            guards: "max_changes: 100000, max_change_share: 1, max_same_direction_share: 1")
        let file = try work.folder.write(
            String(decoding: try await simulator.control("/_simulator/table"), as: UTF8.self),
            to: "table.csv")
        switch table {
        case .ours:
            try work.folder.write(work.folder.text("trueup.yaml") + tail, to: "trueup.yaml")
            try #require(work.run("init").status == 0)
            try #require(work.run("import", file).status == 0)
            let purchases = try work.folder.write(
                String(
                    decoding: try await simulator.control("/_simulator/purchases"), as: UTF8.self),
                to: "purchases.csv")
            let imported = try work.run("import", purchases, "--purchases")
            try #require(imported.status == 0, "\(imported.errors)")
        case .theirs:
            try await fill(place)
            try work.folder.write(
                "apps:\n" + simulator.appYAML() + """
                    store:
                      url: sqlite:shop.sqlite
                      books: sqlite:trueup.sqlite
                      entitlements: rights
                      subscriptions:
                        table: subs
                        columns: {original_transaction_id: otid, bundle_id: app, environment: env, customer_id: customer, product_id: product, status: state, expires_date: {column: ends, form: milliseconds}, grace_period_expires_date: {column: grace, form: milliseconds}, in_app_ownership_type: ownership}
                        insert: yes
                    report:
                      directory: reports

                    """ + tail, to: "trueup.yaml")
            try #require(work.run("init").status == 0)
        }
        return place
    }

    /// The company's own table with the rows of this moment, and the empty table of entitlements.
    private func fill(_ place: Place) async throws {
        let shop = try DatabaseQueue(path: place.shop)
        defer { try? shop.close() }
        let rows = try await place.csv("table")
        try await shop.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE subs (otid TEXT, app TEXT, env TEXT, customer TEXT, product TEXT,
                        state INTEGER, ends INTEGER, grace INTEGER, ownership TEXT,
                        PRIMARY KEY (app, env, otid));
                    CREATE TABLE rights (
                        bundle_id TEXT NOT NULL, environment TEXT NOT NULL,
                        customer_id TEXT NOT NULL, entitlement TEXT NOT NULL, expires_date INTEGER,
                        grace_period_expires_date INTEGER, original_transaction_id TEXT NOT NULL,
                        product_id TEXT NOT NULL, will_renew INTEGER, signed_date INTEGER,
                        PRIMARY KEY (bundle_id, environment, customer_id, entitlement));
                    """)
            for row in rows {
                try db.execute(
                    sql: "INSERT INTO subs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    arguments: [
                        row["original_transaction_id"], row["bundle_id"], row["environment"],
                        row["customer_id"], row["product_id"], Int(row["status"] ?? ""),
                        Self.milliseconds(row["expires_date"]),
                        Self.milliseconds(row["grace_period_expires_date"]),
                        row["in_app_ownership_type"],
                    ])
            }
        }
    }

    @Test(arguments: Table.allCases)
    func `is right at every hour until the next run, through twenty nights`(
        table: Table
    ) async throws {
        let place = try await place(table, seed: "21")
        var ended = 0
        var shortened = 0
        var begun = 0
        var before: Until = [:]
        for night in 1...20 {
            let moment = try await place.now()
            let run = try place.work.run(["run", "nightly", "--now", moment])
            #expect([0, 2].contains(run.status), "night \(night): \(run.output)\(run.errors)")
            let (told, truth) = (try place.told(), try await truth(place))
            let now = try #require(Self.milliseconds(moment))
            for hour in stride(from: 0, to: 36, by: 3) {
                let at = now + Int64(hour) * 3_600_000
                let reads = Set(told.filter { $0.value > at }.keys)
                let may = Set(truth.filter { $0.value > at }.keys)
                #expect(!may.isEmpty)
                #expect(
                    reads.subtracting(may).isEmpty,
                    "night \(night), hour \(hour): \(reads.subtracting(may)) must not be active")
                #expect(
                    may.subtracting(reads).isEmpty,
                    "night \(night), hour \(hour): \(may.subtracting(reads)) must be active")
            }
            // A row stays after its end.
            #expect(Set(before.keys).isSubset(of: told.keys))
            ended = told.values.filter { $0 <= now }.count
            shortened += before.filter { $0.value > now && (told[$0.key] ?? 0) <= now }.count
            begun += before.isEmpty ? 0 : told.filter { (before[$0.key] ?? 0) < $0.value }.count
            before = told
            try await place.work.simulator.control(
                "/_simulator/advance", method: "POST", body: #"{"seconds": 129600}"#)
        }
        // The nights had all of it: ends, refunds before the end, and renewals.
        #expect(ended > 5 && shortened > 0 && begun > 10, "\(ended) \(shortened) \(begun)")
        if table == .ours {
            #expect(before["customer-000001: member"] != nil)
            #expect(before.contains { $0.value == .max })
        }
        #expect(try place.work.run("verify").status == 0)
    }

    @Test func `is checked by doctor, made as it says, listed and erased`() async throws {
        let place = try await place(.theirs, seed: "4")
        let shop = try DatabaseQueue(path: place.shop)
        defer { try? shop.close() }
        try await shop.writeWithoutTransaction { try $0.execute(sql: "DROP TABLE rights") }
        for command in [["doctor"], ["run", "nightly"], ["check", "nightly"], ["entitlements"]] {
            let ended = try place.work.run(command)
            #expect(ended.status == 78, "\(command): \(ended.output)\(ended.errors)")
            #expect((ended.output + ended.errors).contains("store.entitlements"), "\(command)")
        }
        let words = try place.work.run("doctor").output.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        let statement = try #require(
            words.firstMatch(of: /CREATE TABLE "rights" \(.*?, PRIMARY KEY \([^)]*\)\)/)?.0)
        try await shop.writeWithoutTransaction { try $0.execute(sql: String(statement)) }
        let doctor = try place.work.run("doctor").output.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        #expect(doctor.contains("rights has the columns and the key of store.entitlements"))
        let check = try place.work.run("check", "nightly")
        #expect([0, 2].contains(check.status), "\(check.output)\(check.errors)")
        #expect(try place.told().isEmpty)
        let run = try place.work.run("run", "nightly")
        #expect([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        let told = try place.told()
        #expect(!told.isEmpty)
        func listed() throws -> [String] {
            let listed = try place.work.run("entitlements", "--json")
            #expect(listed.status == 0, "\(listed.errors)")
            return listed.output.split(separator: "\n").map(String.init)
        }
        #expect(try listed().count == told.count)
        #expect(try listed().allSatisfy { $0.contains(#""ownership":""#) })

        // A customer who has gone from the company's table.
        let customer = try #require(told.keys.min()?.split(separator: ":").first)
        try await shop.write { db in
            try db.execute(
                sql: "DELETE FROM subs WHERE customer = ?", arguments: [String(customer)])
        }
        #expect([0, 2].contains(try place.work.run("check", "nightly").status))
        let erased = try place.work.run("erase", String(customer), "--execute")
        #expect([0, 5].contains(erased.status), "\(erased.output)\(erased.errors)")
        #expect(try place.told().keys.filter { $0.hasPrefix("\(customer):") }.isEmpty)
        #expect(try listed().allSatisfy { !$0.contains("\"\(customer)\"") })
    }
}
