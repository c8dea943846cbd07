/// What a client needs to know about a running simulator; printed as the `READY` line.
package struct SimulatorReport: Hashable, Sendable {
    package var endpoint = ""
    package var sandboxEndpoint = ""
    package var control = ""
    package var tlsRootFile = ""
    package var signingRootFile = ""
    package var keyFile = ""
    package var connectKeyFile = ""
    package var app = SimulatedApp()
    package var tableFile: String?
    package var plantedFile: String?
    package var purchasesFile: String?
    package var plantedPurchasesFile: String?
    /// How many subscriptions have a row in the company's own table; `nil` without one.
    package var rows: Int?
    /// How many of them have continued since, because a date of their row has passed.
    package var rowsGoneOn: Int?
    /// Address of the OCSP responder, if one runs.
    package var ocsp: String?

    /// One line of JSON; docs/simulator.md describes the members.
    package var json: String {
        var json = JSONWriter(capacity: 1024)
        json.object { json in
            json.field("endpoint", endpoint)
            json.field("sandbox_endpoint", sandboxEndpoint)
            json.field("control", control)
            json.field("ca_file", tlsRootFile)
            json.field("root_file", signingRootFile)
            json.field("key_file", keyFile)
            json.field("key_id", app.keyID)
            json.field("issuer_id", app.issuerID)
            json.field("connect_key_file", connectKeyFile)
            json.field("connect_key_id", app.connectKeyID)
            json.field("vendor_number", app.vendorNumber)
            json.field("bundle_id", app.bundleID)
            json.field("app_apple_id", app.appAppleID)
            json.field("table_file", tableFile)
            json.field("planted_file", plantedFile)
            json.field("purchases_file", purchasesFile)
            json.field("planted_purchases_file", plantedPurchasesFile)
            json.field("ocsp", ocsp)
            json.field("rows", rows)
            json.field("rows_gone_on", rowsGoneOn)
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
