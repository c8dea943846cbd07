import Foundation
import TestSupport
import Testing

/// A night over the table of `docs/mappings/bigint-ids.yaml`, whose corrections are told to a command.
struct MappedNight {
    static let command = ["run", "nightly"]

    let place: Workplace
    private let example: MappingExample
    private let rows: [SeedRow]
    private let purchases: [SeedRow]

    /// - Parameters:
    ///   - customers: How many the simulated company has; more than half of their rows drifted.
    ///   - url: The company's database.
    ///   - books: Where the books are.
    /// - Throws: When it cannot be made ready.
    init(
        customers: Int, url: String, books: String = "books: sqlite:trueup.sqlite"
    ) throws {
        let folder = try TemporaryFolder()
        let rates = "{one_time_purchase: 0.8, one_time_refund: 0.8}"
        let scenario = try folder.write(
            "population: {customers: \(customers), rates: \(rates)}\n", to: "shop.yaml")
        let simulator = try RunningSimulator([
            "--drift", "0.6", "--seed", "5", "--scenario", scenario,
        ])
        rows = try SeedRow.all(of: #require(simulator.ready.tableFile), isBare: false)
        purchases = try SeedRow.all(of: #require(simulator.ready.purchasesFile), isBare: false)
        example = try #require(MappingExample.all.first { $0.name == "bigint-ids" })
        place = try Workplace(on: simulator)
        // What a run took over is judged like any other row.
        // Another writer may end the access of most of so few customers.
        try place.writeJob(
            "nightly", "settle: 0s\npurchases: {sweep_days: 1}",
            guards:
                "max_changes: 10000, max_change_share: 1, max_same_direction_share: 1, max_not_found_share: 1"
        )
        let tell = """
            tell:
              command: [/bin/sh, -c, "cat >> \(MappedState.toldFile); echo >> \(MappedState.toldFile)"]

            """
        try place.folder.write(
            "apps:\n" + simulator.appYAML() + example.store(url: url, books: books)
                + "  purchases:\n" + Self.orders + "  entitlements: rights\n"
                + "report:\n  directory: reports\n" + tell, to: "trueup.yaml")
        try #require(place.run("init").status == 0)
    }

    /// How the company's table of purchases is read.
    private static let orders = """
            table: orders
            version: lock_version
            insert: {source: trueup}
            columns:
              transaction_id: {column: txid, form: integer}
              bundle_id: {constant: com.example.app}
              environment: {constant: production}
              customer_id: {column: buyer, form: integer}
              product_id: product
              purchase_date: {column: bought, form: milliseconds}
              revocation_date: {column: refunded, form: milliseconds}
              revocation_reason: reason
              revocation_percentage: {column: share, form: integer}

        """

    /// A line for each row of that table.
    private var ordersSQL: String {
        purchases.map { row in
            let values = [
                row["transaction_id"], "\(row.customer)", row["product_id"],
                SeedRow.date(row["purchase_date"]).map { "\($0)" } ?? "",
                SeedRow.date(row["revocation_date"]).map { "\($0)" } ?? "",
                row["revocation_reason"], row["revocation_percentage"],
            ].map { $0.isEmpty ? "NULL" : "'\($0)'" }
            return "INSERT INTO orders VALUES (\(values.joined(separator: ", ")), 0, 'shop');\n"
        }.joined()
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
            CREATE TABLE orders (
                txid \(number) PRIMARY KEY, buyer \(number), product \(text), bought \(number),
                refunded \(number), reason INTEGER, share \(number),
                lock_version INTEGER NOT NULL, source TEXT NOT NULL);

            """ + ordersSQL
    }

    /// Where the night begins, to be copied for each disturbance of it.
    var prepared: PreparedPlace { PreparedPlace(folder: place.folder.url) }
}
