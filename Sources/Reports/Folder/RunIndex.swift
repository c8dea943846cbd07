import Subscriptions

/// `index.csv` of the report folder: a line per run, and the end of the chain of manifests.
///
/// A run that was killed after its folder got its final name stands on the disk but not in the
/// index. Such folders are taken up from their manifests, so that neither the index nor the chain
/// gets a hole; a lost index is made anew the same way.
struct RunIndex {
    static let fileName = "index.csv"

    private let directory: String
    private var lines: [String]
    private(set) var newestManifest: String?
    private var folders: Set<String>

    /// Reads the index and takes up complete folders that it lacks.
    static func read(in directory: String) throws(ReportError) -> RunIndex {
        var index = RunIndex(directory: directory, lines: [], newestManifest: nil, folders: [])
        let path = directory + "/" + fileName
        if let bytes = FileSystem.contents(of: path) {
            let text = String(decoding: bytes, as: UTF8.self)
            guard text.hasPrefix(Line.table.csvHeader) else {
                throw .notWritten(
                    "\(path) does not begin with the columns of this version; move it away, "
                        + "it is made anew from the manifests")
            }
            for line in text.dropFirst(Line.table.csvHeader.count).split(separator: "\r\n") {
                index.take(up: String(line))
            }
        }
        index.takeUpUnlisted()
        return index
    }

    mutating func append(_ line: Line) {
        var bytes: [UInt8] = []
        Line.table.appendCSV(line, to: &bytes)
        lines.append(String(decoding: bytes.dropLast(2), as: UTF8.self))
        folders.insert(line.folder)
        newestManifest = line.manifestDigest
    }

    /// Writes the new index beside the old one.
    func writeDraft() throws(ReportError) {
        var file = try OutputFile(creating: draftPath)
        try file.write(Line.table.csvHeader)
        for line in lines { try file.write(line + "\r\n") }
        _ = try file.close(named: Self.fileName)
    }

    /// Puts the draft in the place of the old index.
    func publishDraft() throws(ReportError) {
        try FileSystem.rename(draftPath, to: directory + "/" + Self.fileName)
    }

    private var draftPath: String {
        directory + "/" + Self.fileName + ReportFolder.partialSuffix
    }

    /// Keeps a line as it stands; its first three fields are plain and never quoted.
    private mutating func take(up line: String) {
        lines.append(line)
        let fields = line.split(separator: ",", maxSplits: 3, omittingEmptySubsequences: false)
        guard fields.count == 4, fields[2].utf8.count == 64 else { return }
        folders.insert(String(fields[1]))
        newestManifest = String(fields[2])
    }

    /// Follows the chain from the last listed run; where it does not lead on, the order of ids.
    private mutating func takeUpUnlisted() {
        var unlisted: [StoredManifest] = []
        for day in FileSystem.names(in: directory) where day.isDay {
            for name in FileSystem.names(in: directory + "/" + day) where name.isPlainName {
                let folder = day + "/" + name
                guard !folders.contains(folder),
                    let stored = StoredManifest(
                        folder: folder,
                        bytes: FileSystem.contents(
                            of: directory + "/" + folder + "/" + ReportFile.manifest))
                else { continue }
                unlisted.append(stored)
            }
        }
        while !unlisted.isEmpty {
            let next = unlisted.firstIndex { $0.previous == newestManifest } ?? 0
            append(unlisted.remove(at: next).line)
        }
    }
}
