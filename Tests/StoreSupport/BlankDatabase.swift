import Foundation
import SubscriptionStore

/// A database as it is created.
///
/// Making one takes time, so it is made once and copied for each test, with another identity.
package struct BlankDatabase: Sendable {
    private let bytes: Data
    private let identity: Range<Data.Index>

    private static let made = Result { try BlankDatabase() }

    private init() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "trueup-blank-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "trueup.sqlite").path
        try SQLiteStore.create(at: path)
        let id = try SQLiteStore.open(at: path, access: .readOnly).databaseIdentity()
        bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        guard let found = bytes.range(of: Data(id.utf8)) else {
            throw CocoaError(.fileReadCorruptFile)
        }
        identity = found
    }

    /// Writes a copy of its own.
    package static func write(to path: String) throws {
        let blank = try made.get()
        var bytes = blank.bytes
        let id = UUID().uuidString.lowercased().filter { $0 != "-" }
        bytes.replaceSubrange(blank.identity, with: Data(id.utf8))
        try bytes.write(to: URL(fileURLWithPath: path))
    }
}
