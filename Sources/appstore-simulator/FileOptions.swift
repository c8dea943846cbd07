import AppStoreSimulation
import ArgumentParser

/// The options of the folder.
struct FileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the client's files are written: TLS root, signing root, private key.",
            discussion: "Default: a new folder for temporary files."))
    var folder: String?

    @Flag(
        help: ArgumentHelp(
            "Keep keys, roots and world in the folder for the next start.",
            discussion: "Needs --folder; the next start takes the same options."))
    var keep = false

    init() {}

    mutating func validate() throws {
        guard keep, folder == nil else { return }
        throw ValidationError("--keep needs --folder.")
    }
}

/// The options of the company's table with planted drift.
struct TableOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Also write a company's table with this share of its rows planted wrong (0 to 1).",
            discussion: "0 writes an exact table.", valueName: "rate"))
    var drift: Double?

    @Option(
        help: ArgumentHelp(
            "Plant only these kinds of drift, separated by commas.",
            discussion: "Default: every kind in turn; docs/simulator.md names them.",
            valueName: "kind,…"))
    var driftKinds: String?

    @Option(
        name: .customLong("revenuecat-export"),
        help: ArgumentHelp(
            "Also write transactions.csv into this folder, as RevenueCat exports them.",
            discussion:
                "Every twentieth subscription has a difference; planted.json there lists them.",
            valueName: "dir"))
    var revenueCatExport: String?

    @Option(
        name: .customLong("sales-reports"),
        help: ArgumentHelp(
            "Also write App Store Connect's sales reports of the last three days into this folder.",
            discussion:
                "planted.json there lists their differences, products.yaml has the settings for trueup.",
            valueName: "dir"))
    var salesReports: String?

    init() {}

    mutating func validate() throws {
        if let drift, !(0...1).contains(drift) {
            throw ValidationError("--drift must be from 0 to 1.")
        }
        if driftKinds != nil, drift == nil {
            throw ValidationError("--drift-kinds needs --drift: without it there is no table.")
        }
        _ = try plantedKinds()
    }

    func plantedKinds() throws -> [DriftKind] {
        guard let driftKinds else { return DriftKind.allCases }
        return try driftKinds.split(separator: ",").map { name in
            guard let kind = DriftKind(rawValue: String(name)) else {
                let known = DriftKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--drift-kinds: \(name) is not one of \(known).")
            }
            return kind
        }
    }
}
