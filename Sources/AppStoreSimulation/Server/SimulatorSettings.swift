package import Subscriptions

/// What a simulated App Store is started with.
package struct SimulatorSettings: Sendable {
    /// Where the client's files are written; made where it is missing.
    package var folder: String
    /// The IP address that all listeners but the revocation service take.
    package var bindAddress = "127.0.0.1"
    /// Further names and addresses in the TLS certificate.
    package var hosts: [String] = []
    /// 0 takes a free port.
    package var port = 0
    package var sandboxPort = 0
    package var controlPort = 0
    package var seed: UInt64 = 1
    /// Customers of the production world besides scripted ones; `nil` follows the scenario, else
    /// 2,000.
    ///
    /// The sandbox has a twentieth, at least twenty.
    package var customers: Int?
    /// The text of a scenario (YAML).
    package var scenario: String?
    /// Share of a company's rows that are planted with drift; `nil` writes no table.
    package var drift: Double?
    /// What is planted, in turn.
    package var driftKinds = DriftKind.allCases
    /// Where the world's clock stands still; `nil` follows the real time.
    package var now: Timestamp?
    /// Whether HTTP/2 is offered beside HTTP/1.1, as Apple does.
    package var offersHTTP2 = true
    /// The text of a fault plan (YAML or JSON).
    package var faults: String?
    /// What the revocation service answers; `nil` runs none.
    package var ocsp: OCSPMode?
    /// 0 takes a free port.
    package var ocspPort = 0
    /// Whether the folder keeps keys, roots and world for the next start.
    package var keeps = false
    package var app = SimulatedApp()

    package init(folder: String) {
        self.folder = folder
    }
}
