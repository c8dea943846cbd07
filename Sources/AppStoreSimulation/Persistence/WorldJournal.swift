import Foundation
import Subscriptions
import Synchronization

/// The file `journal.jsonl`: the calls that changed the world, which a restart replays.
final class WorldJournal: Sendable {
    /// One line of the journal.
    struct Entry: Codable, Sendable {
        /// The world's time of the call (milliseconds of UNIX time).
        var at: Int64
        /// How the clock continued after a call that moved it or changed its speed.
        var clock: SimulatedClock.Reading?
        /// In journals of earlier versions: how far the clock had been moved forward in total.
        var aheadMilliseconds: Int64?
        /// Who received the call: `control`, `Production` or `Sandbox`.
        var receiver: String?
        var method: String?
        var target: String?
        var body: String?

        private enum CodingKeys: String, CodingKey {
            case at, clock, aheadMilliseconds, method, target, body
            case receiver = "door"
        }
    }

    /// Control calls that do not change the world, or whose effect is journalled otherwise.
    private static let callsWithoutEffect: Set<String> = [
        "advance", "clock", "faults", "limits", "log/reset", "ocsp", "reset", "retention",
        "retention/review", "retention/request",
    ]

    /// `nil` until the entries of earlier starts have been replayed.
    private let file = Mutex<FileHandle?>(nil)
    private let path: String

    init(folder: String) {
        path = folder + "/journal.jsonl"
    }

    /// Starts writing calls to the file.
    func begin() throws(SimulatorError) {
        if !FileManager.default.fileExists(atPath: path) {
            try SimulatorFolder.write("", to: path, permissions: 0o600)
        }
        guard let handle = FileHandle(forWritingAtPath: path),
            (try? handle.seekToEnd()) != nil
        else { throw .cannotWrite(path: path, reason: "it cannot be opened") }
        file.withLock { $0 = handle }
    }

    /// The entries so far; an incomplete last line, left by a killed program, is ignored.
    func entries() throws(SimulatorError) -> [Entry] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw .cannotRead(path: path, reason: "it is missing or not text")
        }
        var entries: [Entry] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: true)
        for (number, line) in lines.enumerated() {
            guard let entry = try? JSONDecoder().decode(Entry.self, from: Data(line.utf8)) else {
                guard number == lines.count - 1, !text.hasSuffix("\n") else {
                    throw .cannotRead(
                        path: path, reason: "line \(number + 1) is not what --keep wrote")
                }
                break
            }
            entries.append(entry)
        }
        return entries
    }

    /// Records how the clock continues from a moment.
    func note(clock reading: SimulatedClock.Reading, at moment: Timestamp) {
        append(Entry(at: moment.unixMilliseconds, clock: reading))
    }

    /// Forgets all calls: the world is as it was at its first start.
    func clear() {
        file.withLock { try? $0?.truncate(atOffset: 0) }
    }

    /// Records an accepted control call if it changes the world.
    func note(control request: ServiceRequest, at moment: Timestamp) {
        let name = request.path.dropFirst().joined(separator: "/")
        guard request.method != "GET", !Self.callsWithoutEffect.contains(name) else { return }
        append(entry("control", request, at: moment))
    }

    /// Records an accepted API call if it changes the world.
    func note(
        _ request: ServiceRequest, in environment: SimulatedEnvironment, at moment: Timestamp
    ) {
        guard request.method != "GET", let endpoint = Endpoint.match(request)?.endpoint,
            endpoint != .notificationHistory, !endpoint.isRetentionMessaging
        else { return }
        append(entry(environment.rawValue, request, at: moment))
    }

    private func entry(_ receiver: String, _ request: ServiceRequest, at moment: Timestamp) -> Entry
    {
        Entry(
            at: moment.unixMilliseconds, receiver: receiver, method: request.method,
            target: request.target, body: String(decoding: request.body, as: UTF8.self))
    }

    private func append(_ entry: Entry) {
        guard var line = try? JSONEncoder().encode(entry) else { return }
        line.append(UInt8(ascii: "\n"))
        file.withLock { try? $0?.write(contentsOf: line) }
    }
}
