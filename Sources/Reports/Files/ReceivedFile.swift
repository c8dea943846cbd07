/// A file that another service sent, kept as it was sent.
package enum ReceivedFile {
    /// Writes a file that has its name only when it is whole, checked and on the disk.
    ///
    /// - Parameters:
    ///   - bytes: The content.
    ///   - name: The name in the folder.
    ///   - folder: The folder; it is made where there is none.
    ///   - check: Throws for a content that must not be kept; it gets the path of the draft.
    /// - Throws: `ReportError`, or what `check` throws; then there is no file.
    package static func write(
        _ bytes: [UInt8], named name: String, in folder: String,
        check: (_ draft: String) throws -> Void
    ) throws {
        try FileSystem.makeFolders(folder)
        let path = folder + "/" + name
        let draft = path + ReportFolder.partialSuffix
        do {
            var file = try OutputFile(creating: draft)
            try file.append { $0 += bytes }
            _ = try file.close(named: name)
            try check(draft)
            try FileSystem.rename(draft, to: path)
            try FileSystem.synchronize(folder: folder)
        } catch {
            try? FileSystem.removeTree(draft)
            throw error
        }
    }

    /// Whether a file of this path is there.
    package static func exists(_ path: String) -> Bool { FileSystem.entry(at: path) != .nothing }
}
