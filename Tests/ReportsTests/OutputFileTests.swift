import Reports
import Testing

@Suite struct `The sealing writer` {
    @Test func `counts bytes and lines and seals what stands in the file`() throws {
        let folder = try TemporaryFolder()
        var file = try OutputFile(creating: folder.path + "/x")
        try file.write("abc\n")
        try file.write("dé\n\n")
        let seal = try file.close(named: "x")
        #expect(seal.name == "x")
        #expect(seal.bytes == 9)
        #expect(seal.lines == 3)
        // printf 'abc\ndé\n\n' | sha256sum
        #expect(
            seal.sha256 == "e2c02af3d86d154f61e49bb11c64416bab739d493e493fb88b20ae8e0377b37a")
        #expect(try folder.text("x") == "abc\ndé\n\n")
    }

    @Test func `seals the same whatever the pieces that were written`() throws {
        let folder = try TemporaryFolder()
        let text = String(repeating: "0123456789\n", count: 40_000)
        var whole = try OutputFile(creating: folder.path + "/whole")
        try whole.write(text)
        var pieces = try OutputFile(creating: folder.path + "/pieces")
        for _ in 0..<40_000 { try pieces.write("0123456789\n") }
        let first = try whole.close(named: "x")
        #expect(try pieces.close(named: "x") == first)
        #expect(first.lines == 40_000)
        #expect(try folder.text("pieces") == text)
    }

    @Test func `a full disk is not written`() throws {
        var file = try OutputFile(creating: "/dev/full")
        try file.write("x")
        var message = ""
        do throws(ReportError) {
            _ = try file.close(named: "x")
        } catch {
            guard case .notWritten(let text) = error else { throw error }
            message = text
        }
        #expect(
            message
                == "cannot write /dev/full: No space left on device; free space and run again")
    }

    @Test func `a full disk is found in the middle of a long file`() throws {
        var file = try OutputFile(creating: "/dev/full")
        var written = 0
        do throws(ReportError) {
            while written < 100 * OutputFile.bufferBytes {
                try file.write("0123456789")
                written += 10
            }
        } catch {}
        #expect(written < 2 * OutputFile.bufferBytes)
    }
}
