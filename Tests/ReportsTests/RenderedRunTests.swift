import Foundation
import Reports
import Subscriptions
import Testing

@Suite struct `A report that is rendered again` {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// As the database keeps it, read back under whatever settings.
    private func rendered(_ run: StoredRun, _ context: ReportContext) throws -> RenderedRun {
        let kept = try context.text(ofReportsIn: folder.path)
        return try RenderedRun(run, context: try ReportContext(text: kept))
    }

    @Test(arguments: [Samples.context, Samples.rehearsal])
    func `has the bytes that were published`(context: ReportContext) throws {
        var context = context
        context.shownDirectory = nil
        let run = try Samples.run()
        let published = try folder.report(run, context: context).path
        let rendered = try rendered(run, context)
        try rendered.write(into: folder.path + "/again")
        #expect(try folder.names(in: "again") == RenderedRun.fileNames.sorted())
        for name in RenderedRun.fileNames {
            let original = try Data(contentsOf: URL(fileURLWithPath: published + "/" + name))
            let copy = try Data(
                contentsOf: URL(fileURLWithPath: folder.path + "/again/" + name))
            #expect(copy == original, "\(name)")
            var printed: [UInt8] = []
            try rendered.render(name) { bytes in printed += bytes }
            #expect(Data(printed) == original, "\(name)")
        }
    }

    @Test func `is written into a new folder only`() throws {
        try folder.write("mine", to: "again")
        let rendered = try rendered(try Samples.run(), Samples.context)
        #expect(
            throws: ReportError.cannotCreate(
                "\(folder.path)/again exists already. Nothing was written. Name a new folder.")
        ) {
            try rendered.write(into: folder.path + "/again/")
        }
        #expect(try folder.text("again") == "mine")
    }

    @Test func `keeps what the report states beside the run`() throws {
        var expected = Samples.rehearsal
        expected.database = "d0"
        expected.shownDirectory = "reports"
        expected.manifest = String(repeating: "b", count: 64)
        let kept = try ReportContext(text: try expected.text(ofReportsIn: "elsewhere"))
        #expect(kept == expected)
    }
}
