package import Subscriptions

/// The settings of a simulated App Store.
package struct SimulatorSettings: Sendable {
    /// The folder for the client's files; created if it is missing.
    package var folder: String
    /// The IP address of all listeners except the OCSP responder.
    package var bindAddress = "127.0.0.1"
    /// Further names and addresses in the TLS certificate.
    package var hosts: [String] = []
    /// 0 chooses a free port.
    package var port = 0
    package var sandboxPort = 0
    package var controlPort = 0
    package var seed: UInt64 = 1
    /// The text of a company's own table (CSV), with which the store is to agree.
    package var table: String?
    /// Number of random customers in production; `nil` uses the scenario's number, or 2,000, or
    /// none next to a table.
    ///
    /// The sandbox has a twentieth of it, but at least twenty.
    package var customers: Int?
    /// The folder for an export as RevenueCat writes it; `nil` for none.
    package var revenueCatExport: String?
    /// The folder for App Store Connect's sales reports; `nil` writes none.
    package var salesReports: String?
    /// The text of a catalogue of the app's own (YAML).
    package var catalogue: String?
    /// How long a month lasts in the sandbox, in minutes; `nil` for the calendar's months.
    package var sandboxMonthMinutes: Int?
    /// The text of a scenario (YAML).
    package var scenario: String?
    /// Share of the rows of the company's table that get planted drift; `nil` writes no table.
    package var drift: Double?
    /// The kinds of drift that are planted, in turn.
    package var driftKinds = DriftKind.allCases
    /// The moment at which the world's clock begins; `nil` begins with the real time.
    package var now: Timestamp?
    /// How fast the world's clock runs; `nil` stands still at a given moment, otherwise follows the
    /// real time.
    package var clockSpeed: Double?
    /// How many days a signing leaf lasts; `nil` for several years.
    package var leafDays: Int?
    /// How many days an intermediate lasts, at least twice as long as a leaf; `nil` for many years.
    package var intermediateDays: Int?
    /// Whether HTTP/2 is offered next to HTTP/1.1, as Apple does.
    package var offersHTTP2 = true
    /// The text of a fault plan (YAML or JSON).
    package var faults: String?
    /// What the OCSP responder answers; `nil` runs none.
    package var ocsp: OCSPMode?
    /// 0 chooses a free port.
    package var ocspPort = 0
    /// Whether the folder keeps keys, roots and world for the next start.
    package var keeps = false
    package var app = SimulatedApp()

    package init(folder: String) {
        self.folder = folder
    }
}
