import FoundationEssentials
import Glibc
import Subscriptions

/// The database whose runs a report folder holds.
package struct ReportingDatabase: Hashable, Sendable {
    /// Made once with the database and never changed; a copy or a backup has the same.
    package var identity: String
    /// Of its file, or a URL where it is on a server.
    package var path: String

    package init(identity: String, path: String) {
        self.identity = identity
        self.path = path
    }
}

/// `database.json` of a report folder: whose runs it holds.
///
/// The path is written from the report folder, so that a copy of everything, a rehearsal, names its
/// own database and not the one that it was copied from.
struct ReportFolderOwner: Hashable {
    static let fileName = "database.json"

    var identity: String
    /// From the report folder, where both have their real names.
    var relativePath: String

    /// Reads the file; a folder of an earlier version has none, and `nil` says so.
    ///
    /// Where that file was lost, the newest manifest still names the database.
    static func read(in directory: String) throws(ReportError) -> ReportFolderOwner? {
        let path = directory + "/" + fileName
        guard FileSystem.entry(at: path) != .nothing else {
            let newest = directory + "/" + ReportFolder.latest + "/" + ReportFile.manifest
            return wire(ofFileAt: newest)?.database.map {
                ReportFolderOwner(identity: $0, relativePath: "")
            }
        }
        guard let wire = wire(ofFileAt: path), let identity = wire.database else {
            throw .cannotCreate(
                "\(path) cannot be read: it says which database the reports are of. Nothing was "
                    + "changed. Restore the file, or remove it to have it made from the newest "
                    + "manifest")
        }
        return ReportFolderOwner(identity: identity, relativePath: wire.path ?? "")
    }

    /// Whether no correction was ever written by a run of the folder.
    static func ledgerIsEmpty(in directory: String) -> Bool {
        let newest = directory + "/" + ReportFolder.latest + "/" + ReportFile.manifest
        return wire(ofFileAt: newest)?.ledgerHead == LedgerEntry.firstPreviousHash
    }

    func write(in directory: String) throws(ReportError) {
        let draft = directory + "/" + Self.fileName + ReportFolder.partialSuffix
        var file = try OutputFile(creating: draft)
        try file.write(
            CanonicalJSON.object([
                "database": .string(identity), "path": .string(relativePath),
            ]).rendered + "\n")
        _ = try file.close(named: Self.fileName)
        try FileSystem.rename(draft, to: directory + "/" + Self.fileName)
        try FileSystem.synchronize(folder: directory)
    }

    /// Where the database is that the file names, if it was written down.
    func path(from directory: String) -> String? {
        guard !relativePath.isEmpty else { return nil }
        guard !relativePath.hasPrefix("/"), !relativePath.hasPrefix("postgres:") else {
            return relativePath
        }
        return FileSystem.realPath(directory).map { Self.normal($0 + "/" + relativePath) }
    }

    /// The relative path from a folder to a file, both resolved; the file's own path where one of
    /// them has none.
    static func relativePath(of file: String, from directory: String) -> String {
        guard let target = FileSystem.realPath(file), let origin = FileSystem.realPath(directory)
        else { return file }
        let to = target.split(separator: "/")
        let from = origin.split(separator: "/")
        let shared = zip(to, from).prefix { $0 == $1 }.count
        let up = Array(repeating: Substring(".."), count: from.count - shared)
        return (up + to.dropFirst(shared)).joined(separator: "/")
    }

    private static func normal(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }

    private static func wire(ofFileAt path: String) -> Wire? {
        FileSystem.contents(of: path).flatMap {
            try? JSONDecoder().decode(Wire.self, from: Data($0))
        }
    }

    private struct Wire: Decodable {
        var database: String?
        var path: String?
        var ledgerHead: String?

        enum CodingKeys: String, CodingKey {
            case database, path
            case ledgerHead = "ledger_head"
        }
    }
}
