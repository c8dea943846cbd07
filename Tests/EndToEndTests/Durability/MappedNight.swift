import Foundation
import TestSupport
import Testing

/// A night over the table of `docs/mappings/bigint-ids.yaml`, whose corrections are told to a command.
struct MappedNight {
    static let command = ["run", "nightly"]

    let place: Workplace
    private let example: MappingExample
    private let rows: [SeedRow]

    /// - Parameters:
    ///   - customers: How many the simulated company has; more than half of their rows drifted.
    ///   - url: The company's database.
    ///   - books: Where the books are.
    /// - Throws: When it cannot be made ready.
    init(
        customers: Int, url: String, books: String = "books: sqlite:trueup.sqlite"
    ) throws {
        let simulator = try RunningSimulator([
            "--customers", "\(customers)", "--drift", "0.6", "--seed", "5",
        ])
        rows = try SeedRow.all(of: #require(simulator.ready.tableFile), isBare: false)
        example = try #require(MappingExample.all.first { $0.name == "bigint-ids" })
        place = try Workplace(on: simulator)
        // What a run took over is judged like any other row.
        try place.writeJob("nightly", "settle: 0s")
        let tell = """
            tell:
              command: [/bin/sh, -c, "cat >> \(MappedState.toldFile); echo >> \(MappedState.toldFile)"]

            """
        try place.folder.write(
            "apps:\n" + simulator.appYAML() + example.store(url: url, books: books)
                + "  entitlements: rights\n"
                + "report:\n  directory: reports\n" + tell, to: "trueup.yaml")
        try #require(place.run("init").status == 0)
    }

    /// The company's table with its rows.
    func sql(for dialect: MappingExample.Dialect) throws -> String {
        let number = dialect == .sqlite ? "INTEGER" : "BIGINT"
        let text = dialect == .mysql ? "VARCHAR(150)" : "TEXT"
        return try example.sql(rows, for: dialect) + """
            ;
            CREATE TABLE rights (
                bundle_id \(text) NOT NULL, environment \(text) NOT NULL, customer_id \(text) NOT NULL,
                entitlement \(text) NOT NULL, expires_date \(number),
                grace_period_expires_date \(number), original_transaction_id TEXT NOT NULL,
                product_id TEXT NOT NULL, will_renew INTEGER, signed_date \(number),
                PRIMARY KEY (bundle_id, environment, customer_id, entitlement));

            """
    }

    /// Where the night begins, to be copied for each disturbance of it.
    var prepared: PreparedPlace { PreparedPlace(folder: place.folder.url) }
}
