import Crypto
import FoundationEssentials
import Subscriptions

/// The file `kept.json` of a simulator started with `--keep`.
///
/// The world itself is not stored: seed, start and the replayed calls (`WorldJournal`) create it again.
struct SavedSimulator: Codable {
    private static let version = 1

    /// The options that determine the world.
    struct Origin: Codable, Equatable {
        var seed: UInt64
        var customers: Int?
        var scenario: String?
        var drift: Double?
        var driftKinds: [String]
        var bundleID: String
        // Those below are missing in files of versions without the options.
        var clockSpeed: Double?
        var catalogue: String?
        var sandboxMonthMinutes: Int?
        var leafDays: Int?
        var intermediateDays: Int?
        /// The SHA-256 of the company's own table.
        var table: String?

        /// The option that differs, or `nil`.
        func difference(from other: Origin) -> String? {
            if seed != other.seed { return "--seed" }
            if customers != other.customers { return "--customers" }
            if scenario != other.scenario { return "--scenario" }
            if drift != other.drift { return "--drift" }
            if driftKinds != other.driftKinds { return "--drift-kinds" }
            if clockSpeed != other.clockSpeed { return "--speed" }
            if catalogue != other.catalogue { return "--catalogue" }
            if sandboxMonthMinutes != other.sandboxMonthMinutes { return "--sandbox-month" }
            if leafDays != other.leafDays { return "--leaf-days" }
            if intermediateDays != other.intermediateDays { return "--intermediate-days" }
            if table != other.table { return "--table" }
            return bundleID == other.bundleID ? nil : "bundle id"
        }
    }

    var version = SavedSimulator.version
    var origin: Origin
    /// When the world was created (milliseconds of UNIX time).
    var start: Int64
    /// Whether its clock began at a given moment instead of the real time.
    var isClockFixed: Bool
    var ocspPort: Int?
    var keys: SimulatorKeys.Text

    init(
        origin: Origin, start: Int64, isClockFixed: Bool, ocspPort: Int?, keys: SimulatorKeys
    ) throws(SimulatorError) {
        self.origin = origin
        self.start = start
        self.isClockFixed = isClockFixed
        self.ocspPort = ocspPort
        do {
            self.keys = try keys.text
        } catch {
            throw .certificates(reason: "\(error)")
        }
    }

    static func path(in folder: String) -> String { folder + "/kept.json" }

    /// Reads what an earlier start saved; `nil` for the first start.
    static func read(from folder: String) throws(SimulatorError) -> SavedSimulator? {
        let path = path(in: folder)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let data = FileManager.default.contents(atPath: path),
            let saved = try? JSONDecoder().decode(SavedSimulator.self, from: data),
            saved.version == version
        else {
            throw .cannotRead(
                path: path, reason: "it is not what --keep wrote; take another --folder")
        }
        return saved
    }

    func write(to folder: String) throws(SimulatorError) {
        let path = Self.path(in: folder)
        guard let data = try? JSONEncoder().encode(self) else {
            throw .cannotWrite(path: path, reason: "it cannot be encoded")
        }
        // Private keys.
        try SimulatorFolder.write(
            String(decoding: data, as: UTF8.self), to: path, permissions: 0o600)
    }
}

extension SavedSimulator.Origin {
    init(_ settings: SimulatorSettings) {
        self.init(
            seed: settings.seed, customers: settings.customers, scenario: settings.scenario,
            drift: settings.drift, driftKinds: settings.driftKinds.map(\.rawValue),
            bundleID: settings.app.bundleID, clockSpeed: settings.clockSpeed,
            catalogue: settings.catalogue, sandboxMonthMinutes: settings.sandboxMonthMinutes,
            leafDays: settings.leafDays, intermediateDays: settings.intermediateDays,
            table: settings.table.map { text in
                SHA256.hash(data: Data(text.utf8)).map { String($0, radix: 16) }.joined(
                    separator: " ")
            })
    }
}
