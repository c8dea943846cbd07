/// The app whose store is simulated, and the client's credentials for it.
package struct SimulatedApp: Hashable, Sendable {
    package var bundleID = "com.example.app"
    package var appAppleID: Int64 = 1_234_567_890
    package var issuerID = "57246542-96fe-1a63-e053-0824d011072a"
    package var keyID = "2X9R4HXF34"

    package init() {}
}
