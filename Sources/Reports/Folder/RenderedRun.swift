import Subscriptions

/// A stored run whose report is rendered again, with the bytes that it had first.
///
/// It holds every file that is made from the stored run. The log is not among them: the database does
/// not hold it, so `manifest.json` and `SHA256SUMS`, which state its digest, cannot be made either.
package struct RenderedRun: Sendable {
    /// The names of the files, in the order in which `README.txt` names them.
    package static let fileNames = ReportFile.all.map(\.name)
    /// The files of a report that only its first folder has.
    package static let missingNames = [ReportFile.log, ReportFile.manifest, ReportFile.sums]

    private let source: ReportSource

    /// Reads the summary of the run.
    ///
    /// - Parameters:
    ///   - record: The stored run.
    ///   - context: What the report stated beside it; its `shownDirectory` is the report folder.
    /// - Throws: What reading the record throws.
    package init(_ record: any RunRecord, context: ReportContext) throws {
        let summary = try record.summary()
        let header = summary.header
        let folder = ReportFolder.relativePath(ofRun: header.runID, started: header.started)
        let directory = (context.shownDirectory ?? ".").withoutTrailingSlashes
        source = try ReportSource(
            record, summary, context: context, shownPath: directory + "/" + folder)
    }

    /// Renders one file, handing on its bytes as they are made.
    ///
    /// - Parameters:
    ///   - name: One of `fileNames`.
    ///   - receive: Takes the next bytes.
    /// - Throws: `ReportError`, or what reading the record throws.
    package func render(
        _ name: String, to receive: @escaping ([UInt8]) throws(ReportError) -> Void
    ) throws {
        guard let file = ReportFile.all.first(where: { $0.name == name }) else {
            throw ReportError.record("a report has no file \(name) that is made from a stored run")
        }
        var output = try OutputFile(handingTo: receive)
        try file.write(source, &output)
        try output.handOnRest()
    }

    /// Writes every file into a new folder.
    ///
    /// - Parameter directory: Must not exist.
    /// - Throws: `.cannotCreate` (exit 73) where something stands there, `.notWritten` (exit 74), or
    ///   what reading the record throws.
    package func write(into directory: String) throws {
        let path = directory.withoutTrailingSlashes
        guard FileSystem.entry(at: path) == .nothing else {
            throw ReportError.cannotCreate("\(path) exists already; nothing was written")
        }
        try FileSystem.makeFolders(path)
        for file in ReportFile.all {
            var output = try OutputFile(
                creating: path + "/" + file.name, mayBePacked: file.mayBePacked)
            try file.write(source, &output)
            _ = try output.close(named: file.name)
        }
        try FileSystem.synchronize(folder: path)
    }
}
