import Foundation
import GRDB
import TestSupport
import Testing

/// Companies with seats, whose services write nothing: only the run brings changes to the table.
///
/// Which transaction of a period Apple shows changes each day.
@Suite(.timeLimit(.minutes(30))) struct `Subscriptions with seats` {
    static let scenario = """
        customers:
          - name: firm
            life: [{at: -4d, buy: video.premium.monthly, seats: 5}]
          - name: club
            life:
              - {at: -5d, buy: video.basic.monthly, seats: 2}
              - {at: -3d, add_seats: 2}
              - {at: -2d, add_seats: 1}
          - name: school
            life:
              - {at: -6d, buy: news.monthly, seats: 6, invitations: developer}
              - {at: -5d, claim_seats: 3}
          - name: solo
            life: [{at: -7d, buy: news.monthly}]

        """

    /// The company's columns that say who has access, and until when.
    static let decisive = [
        "status", "expires_date", "revocation_date", "auto_renew_status", "auto_renew_product_id",
        "product_id", "in_app_ownership_type", "quantity", "renewal_quantity", "revoked_seats",
    ]

    private struct Nights {
        let place: Workplace

        /// `now`: where Apple's clock begins; the present where it is `nil`.
        init(
            coverage: String, at now: String? = "2026-11-10T03:00:00Z",
            of scenario: String = `Subscriptions with seats`.scenario, drift: String? = nil
        ) throws {
            let folder = try TemporaryFolder()
            let file = try folder.write(scenario, to: "seats.yaml")
            let simulator = try RunningSimulator(
                ["--seed", "3", "--scenario", file] + (now.map { ["--now", $0] } ?? [])
                    + (drift.map { ["--drift", $0, "--drift-kinds", "seats"] } ?? []))
            place = try Workplace(on: simulator)
            try place.folder.write(
                """
                steps: [recover, walk]
                mode: apply
                coverage: \(coverage)
                settle: 0s
                fail_on: low
                guards: {max_changes: 100000, max_change_share: 1, max_same_direction_share: 1}

                """, to: "jobs/nightly.yaml")
            try #require(place.run("init").status == 0)
        }

        func control(_ path: String, _ body: String) async throws {
            try await place.simulator.control("/_simulator/" + path, method: "POST", body: body)
        }

        func now() async throws -> String {
            let clock = try await place.simulator.control("/_simulator/clock")
            let object = try JSONSerialization.jsonObject(with: clock) as? [String: Any]
            return try #require(object?["now"] as? String)
        }

        /// Apple's truth by original transaction id.
        func truth() async throws -> [String: [String: String]] {
            let text = try await place.simulator.control("/_simulator/table")
            let lines = String(decoding: text, as: UTF8.self)
                .split(whereSeparator: \.isNewline).map {
                    $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
                }
            let header = try #require(lines.first)
            return Dictionary(
                uniqueKeysWithValues: lines.dropFirst().map { line in
                    let row = Dictionary(uniqueKeysWithValues: zip(header, line))
                    return (row["original_transaction_id"] ?? "", row)
                })
        }

        func importTable() async throws {
            let text = try await place.simulator.control("/_simulator/table")
            let file = try place.folder.write(String(decoding: text, as: UTF8.self), to: "t.csv")
            let imported = try place.run("import", file)
            try #require(imported.status == 0, "\(imported.errors)")
        }

        func id(of customer: String) async throws -> String {
            let answer = try await place.simulator.control("/_simulator/customers/" + customer)
            let text = String(decoding: answer, as: UTF8.self)
            let found = text.firstMatch(of: /"original_transaction_id":"([0-9]+)"/)
            return String(try #require(found?.output.1))
        }

        /// A night later, at Apple's time.
        func night() async throws -> [String] {
            try await control("advance", #"{"days": 1}"#)
            let run = try place.run(["run", "nightly", "--now", try await now()])
            #expect(run.status == 0, "\(run.output)\(run.errors)")
            return try place.reportLines("discrepancies.jsonl").compactMap {
                $0["kind"] as? String
            }.filter { $0 != "seat_member" }.sorted()
        }

        /// What a check at the present time would correct.
        ///
        /// A notification of the same second may not have been sent yet, which is a finding of its own.
        func plannedKinds() throws -> [String] {
            let check = try place.run(["check", "nightly"])
            #expect([0, 2].contains(check.status), "\(check.output)\(check.errors)")
            return try place.reportLines("discrepancies.jsonl").compactMap {
                $0["kind"] as? String
            }.filter { !["seat_member", "notification_missed"].contains($0) }.sorted()
        }

        func corrections() throws -> Int { try place.reportLines("corrections.jsonl").count }

        func latestID(of id: String) throws -> String {
            try place.rows().values.first { $0["original_transaction_id"] == id }?[
                "latest_transaction_id"] ?? ""
        }

        /// Columns in which our rows are not what Apple knows.
        func wrong() async throws -> [String] {
            let truth = try await truth()
            return try place.rows().values.flatMap { row -> [String] in
                let id = row["original_transaction_id"] ?? ""
                guard row["in_app_ownership_type"] != "SEAT_MEMBER" else { return [] }
                return `Subscriptions with seats`.decisive.compactMap { column in
                    let theirs = truth[id]?[column]
                    return row[column] == theirs
                        ? nil : "\(column) of \(id): \(row[column] ?? ""), \(theirs ?? "none")"
                }
            }
        }
    }

    @Test(arguments: ["full", "delta"])
    func `keep access until every purchase of the period is refunded`(
        coverage: String
    ) async throws {
        let nights = try Nights(coverage: coverage)
        try await nights.importTable()
        let firm = try await nights.id(of: "firm")
        let club = try await nights.id(of: "club")
        #expect(try await nights.night() == [])
        let ids = [try nights.latestID(of: firm), try nights.latestID(of: club)]

        // Seats are added, and some of them refunded: their numbers are written once, and nothing else
        // of the row changes, whatever is shown.
        try await nights.control("customers/firm/add_seats", #"{"add_seats": 3}"#)
        try await nights.control(
            "customers/firm/refund_seats", #"{"refund_seats": 1, "period": 1}"#)
        for number in 0..<3 {
            let found = try await nights.night()
            #expect(found == Array(repeating: "seats", count: number == 0 ? 3 : 0))
            #expect(try nights.corrections() == (number == 0 ? 1 : 0))
            #expect(try await nights.wrong() == [])
        }
        #expect(try refunds(nights.place) == 0)

        // One purchase of several is refunded as a whole.
        try await nights.control(
            "customers/firm/refund_seats", #"{"refund_seats": 5, "period": 0}"#)
        try await nights.control(
            "customers/club/refund_seats", #"{"refund_seats": 2, "period": 1}"#)
        for number in 0..<4 {
            let found = try await nights.night()
            #expect(found == Array(repeating: "seats", count: number == 0 ? 2 : 0))
            #expect(try nights.corrections() == (number == 0 ? 2 : 0))
            #expect(try await nights.wrong() == [])
        }
        #expect(try refunds(nights.place) == 2)
        #expect(try [nights.latestID(of: firm), nights.latestID(of: club)] == ids)

        // The last one: now access ends, with its date.
        try await nights.control(
            "customers/firm/refund_seats", #"{"refund_seats": 1, "period": 1}"#)
        #expect(try await nights.night() == ["seats"])
        try await nights.control(
            "customers/firm/refund_seats", #"{"refund_seats": 1, "period": 1}"#)
        #expect(try await nights.night() == ["renewal_preference", "revocation_missed"])
        #expect(try await nights.wrong() == [])
        #expect(try await nights.night() == [])

        // One of the refunds is taken back.
        try await nights.control("customers/firm/refund_reversed", #"{"period": 0}"#)
        #expect(try await nights.night() == ["refund_reversal_missed"])
        #expect(try await nights.wrong() == [])
        #expect(try await nights.night() == [])
        #expect(try nights.latestID(of: firm) == ids[0])
        let verified = try nights.place.run("verify")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
    }

    /// A service that writes nothing: what is planted, and two months of additions, reductions, refunds,
    /// reversals, cancellations and failed charges.
    @Test func `of a population are right after every run, and what was planted is found`()
        async throws
    {
        let nights = try Nights(
            coverage: "delta",
            of: """
                population:
                  customers: 60
                  rates: {group_purchase: 0.7, seats_added: 0.3, seats_removed: 0.15,
                    seats_refunded: 0.2, refund: 0.08, refund_reversal: 0.6, cancel: 0.1}

                """, drift: "0.2")
        let place = nights.place
        let file = try #require(place.simulator.ready.tableFile)
        try #require(place.run("import", file).status == 0)
        let planted = try Planted(of: place.simulator).kinds.keys.sorted()
        try #require(planted.count > 8)
        let check = try place.run(["check", "nightly", "--now", try await nights.now()])
        #expect(check.status == 2, "\(check.output)\(check.errors)")
        let found = try place.reportLines("discrepancies.jsonl")
        #expect(found.compactMap { $0["original_transaction_id"] as? String }.sorted() == planted)
        #expect(found.allSatisfy { $0["kind"] as? String == "seats" })
        var kinds: Set<String> = []
        for number in 1...20 {
            try await nights.control("advance", #"{"days": 2}"#)
            kinds.formUnion(try await nights.night())
            let wrong = try await nights.wrong()
            #expect(wrong.isEmpty, "night \(number): \(wrong)")
        }
        #expect(kinds.isSuperset(of: ["seats", "expiry", "revocation_missed"]))
        // The same moment once more: nothing is left to find.
        let again = try place.run(["check", "nightly", "--now", try await nights.now()])
        #expect(again.status == 0, "\(again.output)\(again.errors)")
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
    }

    @Test func `renew as one purchase, with the seats that remain`() async throws {
        let nights = try Nights(coverage: "full")
        try await nights.importTable()
        #expect(try await nights.night() == [])
        try await nights.control("customers/club/remove_seats", #"{"remove_seats": 3}"#)
        #expect(try await nights.night() == ["seats"])
        try await nights.control("advance", #"{"days": 27}"#)
        // Each subscription was renewed.
        let found = try await nights.night()
        #expect(Set(found) == ["expiry"])
        #expect(try await nights.wrong() == [])
        let club = try await nights.id(of: "club")
        let truth = try await nights.truth()
        #expect(try nights.latestID(of: club) == truth[club]?["latest_transaction_id"])
        #expect(try await nights.night() == [])
        #expect(try nights.corrections() == 0)
    }

    @Test func `leave the rows of members alone, and count them`() async throws {
        let nights = try Nights(coverage: "full")
        try await nights.importTable()
        let members = """
            SELECT * FROM subscriptions WHERE in_app_ownership_type = 'SEAT_MEMBER'
            ORDER BY original_transaction_id
            """
        let before = try nights.place.stored(members)
        #expect(before.count == 3)
        for number in 1...3 {
            #expect(try await nights.night() == [])
            let summary = try nights.place.summary()
            let totals = try #require(summary["totals"] as? [String: Any])
            #expect(totals["excluded"] as? Int == 3 && totals["in_scope"] as? Int == 7)
            let reasons = summary["excluded_reasons"] as? [String: Int]
            #expect(reasons == ["seat_member": 3])
            let states = try nights.place.reportLines("discrepancies.jsonl").compactMap {
                $0["state"] as? String
            }
            #expect(states == Array(repeating: number == 1 ? "new" : "open", count: 3))
            if number == 1 {
                try await nights.control(
                    "customers/school/release_seats", #"{"release_seats": 2}"#)
            }
        }
        #expect(try nights.place.stored(members) == before)
        let undecided = try nights.place.report("undecided.csv")
        #expect(!undecided.contains("9900000000"))
    }

    /// By the machine's clock, because `apply` and `undo` know no other.
    @Test func `are planned, applied and taken back like any other`() async throws {
        let nights = try Nights(coverage: "full", at: nil)
        try await nights.importTable()
        let before = try nights.place.rows(without: ["signed_date"])
        for (period, seats) in [(0, 2), (1, 2), (2, 1)] {
            #expect(try nights.plannedKinds() == (period == 0 ? [] : ["seats"]))
            try await nights.control(
                "customers/club/refund_seats",
                "{\"refund_seats\": \(seats), \"period\": \(period)}")
        }
        let kinds = ["renewal_preference", "revocation_missed"]
        #expect(try nights.plannedKinds() == kinds)
        let text = try nights.place.report("plan.json")
        let plan = try nights.place.folder.write(text, to: "plan.json")
        let head = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let identity = try #require((head as? [String: Any])?["plan_sha256"] as? String)
        #expect(try nights.place.rows(without: ["signed_date"]) == before)
        let applied = try nights.place.run("apply", plan, "--approve", identity)
        #expect(applied.status == 0, "\(applied.output)\(applied.errors)")
        #expect(try await nights.wrong() == [])
        let run = try #require(try nights.place.summary()["run_id"] as? String)
        let undone = try nights.place.run("undo", run, "--execute")
        #expect([0, 2].contains(undone.status), "\(undone.output)\(undone.errors)")
        #expect(try nights.place.rows(without: ["signed_date"]) == before)
        #expect(try nights.plannedKinds() == kinds)
    }

    @Test(arguments: [false, true])
    func `keep access in a table of the company's own, too`(hasSeats: Bool) async throws {
        let nights = try Nights(coverage: "full")
        try await nights.importTable()
        let theirs = try Workplace(on: nights.place.simulator)
        try theirs.writeJob("nightly", "settle: 0s\nfail_on: low")
        let shop = try DatabaseQueue(
            path: theirs.folder.url.appendingPathComponent("shop.sqlite").path)
        try await shop.writeWithoutTransaction { db in
            try db.execute(
                sql: "ATTACH ? AS ours",
                arguments: [
                    nights.place.folder.url.appendingPathComponent("trueup.sqlite").path
                ])
            try db.execute(
                sql: """
                    CREATE TABLE subs AS SELECT original_transaction_id AS otid,
                        bundle_id AS app, environment AS env, customer_id AS customer,
                        status AS state, revocation_date / 1000 AS revoked,
                        latest_transaction_id AS last, in_app_ownership_type AS own,
                        quantity AS seats, revoked_seats AS returned
                    FROM ours.subscriptions
                    """)
            try db.execute(sql: "CREATE UNIQUE INDEX by_key ON subs (app, env, otid)")
            try db.execute(sql: "DETACH ours")
        }
        try theirs.folder.write(
            "apps:\n" + nights.place.simulator.appYAML() + """
                store:
                  url: sqlite:shop.sqlite
                  books: sqlite:trueup.sqlite
                  subscriptions:
                    table: subs
                    columns: {original_transaction_id: otid, bundle_id: app, environment: env, customer_id: customer, status: state, revocation_date: {column: revoked, form: seconds}, latest_transaction_id: last, in_app_ownership_type: own\(hasSeats ? ", quantity: seats, revoked_seats: returned" : "")}
                report:
                  directory: reports

                """, to: "trueup.yaml")
        try #require(theirs.run("init").status == 0)
        func night(_ days: Int) async throws -> [String] {
            try await nights.control("advance", "{\"days\": \(days)}")
            let run = try theirs.run(["run", "nightly", "--now", try await nights.now()])
            #expect(run.status == 0, "\(run.output)\(run.errors)")
            #expect(
                try theirs.summary()["excluded_reasons"] as? [String: Int] == ["seat_member": 3])
            return try theirs.reportLines("discrepancies.jsonl")
                .compactMap { $0["kind"] as? String }.filter { $0 != "seat_member" }
        }
        func table() throws -> [[String]] {
            try shop.read { db in
                try Row.fetchAll(
                    db,
                    sql: """
                        SELECT otid, app, env, customer, state, revoked, last, own,
                            'seats ' || seats FROM subs
                        ORDER BY otid
                        """
                ).map { row in
                    row.databaseValues.map { "\($0.storage.value ?? "NULL")" }
                }
            }
        }
        func returned() throws -> [Int64] {
            try shop.read { db in
                try Int64.fetchAll(
                    db, sql: "SELECT returned FROM subs WHERE returned > 0 ORDER BY 1")
            }
        }
        let before = try table()
        #expect(try await night(1) == [])
        for (period, seats) in [(1, 2), (0, 2)] {
            try await nights.control(
                "customers/club/refund_seats",
                "{\"refund_seats\": \(seats), \"period\": \(period)}")
            #expect(try await night(1) == (hasSeats ? ["seats"] : []))
            for _ in 0..<2 { #expect(try await night(1) == []) }
        }
        #expect(try table() == before)
        #expect(try returned() == (hasSeats ? [4] : []))
        try await nights.control(
            "customers/club/refund_seats", #"{"refund_seats": 1, "period": 2}"#)
        #expect(try await night(1) == ["revocation_missed"])
        #expect(try await night(1) == [])
        #expect(try table().count { $0.contains("5") } == 1)
    }

    /// Refunds that `business.csv` counts, over all its days.
    private func refunds(_ place: Workplace) throws -> Int {
        let lines = try place.report("business.csv").split(whereSeparator: \.isNewline).map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let header = try #require(lines.first)
        let kind = try #require(header.firstIndex(of: "event"))
        let count = try #require(header.firstIndex(of: "events"))
        return lines.dropFirst().reduce(0) { sum, line in
            line[kind] == "refund" ? sum + (Int(line[count]) ?? 0) : sum
        }
    }
}
