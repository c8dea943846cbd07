import FoundationEssentials
import Subscriptions

/// What a simulator started with `--keep` needs to be the same one after a restart.
///
/// The world itself is not stored: seed, start and the calls that moved it make it again.
struct KeptStore: Codable {
    private static let version = 1

    /// What made the world; another one would be another world.
    struct Origin: Codable, Equatable {
        var seed: UInt64
        var customers: Int?
        var scenario: String?
        var drift: Double?
        var driftKinds: [String]
        var bundleID: String

        /// The option that differs, or `nil`.
        func difference(from other: Origin) -> String? {
            if seed != other.seed { return "--seed" }
            if customers != other.customers { return "--customers" }
            if scenario != other.scenario { return "--scenario" }
            if drift != other.drift { return "--drift" }
            if driftKinds != other.driftKinds { return "--drift-kinds" }
            return bundleID == other.bundleID ? nil : "bundle id"
        }
    }

    var version = KeptStore.version
    var origin: Origin
    /// The moment that the world was made at (milliseconds of UNIX time).
    var start: Int64
    /// Whether its clock stands still.
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

    /// What an earlier start left in the folder, or `nil` for a first one.
    static func read(from folder: String) throws(SimulatorError) -> KeptStore? {
        let path = path(in: folder)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let data = FileManager.default.contents(atPath: path),
            let kept = try? JSONDecoder().decode(KeptStore.self, from: data),
            kept.version == version
        else {
            throw .cannotRead(
                path: path, reason: "it is not what --keep wrote; take another --folder")
        }
        return kept
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

extension KeptStore.Origin {
    init(_ settings: SimulatorSettings) {
        self.init(
            seed: settings.seed, customers: settings.customers, scenario: settings.scenario,
            drift: settings.drift, driftKinds: settings.driftKinds.map(\.rawValue),
            bundleID: settings.app.bundleID)
    }
}
