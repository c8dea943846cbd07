import FoundationEssentials

/// The file `retention.json` of a simulator started with `--keep`: the settings of retention messaging.
///
/// They are stored and not made again by replayed calls: an image's bytes are needed only once, and a
/// performance test asks a server that may be gone.
struct RetentionFile: Sendable {
    private struct Contents: Codable {
        static let version = 1

        var version = Contents.version
        var settings: RetentionSettings
    }

    let path: String

    init(folder: String) {
        path = folder + "/retention.json"
    }

    /// Reads what an earlier start wrote; `nil` if none has set up anything.
    func read() throws(SimulatorError) -> RetentionSettings? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let data = FileManager.default.contents(atPath: path),
            let contents = try? JSONDecoder().decode(Contents.self, from: data),
            contents.version == Contents.version
        else {
            throw .cannotRead(
                path: path,
                reason: "it is not what --keep wrote; take another --folder, or remove this file: "
                    + "images, messages and defaults of retention messaging then start empty")
        }
        return contents.settings
    }

    func write(_ settings: RetentionSettings) throws(SimulatorError) {
        guard let data = try? JSONEncoder().encode(Contents(settings: settings)) else {
            throw .cannotWrite(path: path, reason: "it cannot be encoded")
        }
        try SimulatorFolder.write(
            String(decoding: data, as: UTF8.self), to: path, permissions: 0o600)
    }
}
