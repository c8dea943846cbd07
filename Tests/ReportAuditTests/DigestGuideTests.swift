import Foundation
import TestSupport
import Testing

@testable import ReportAudit

/// Lines found by the guide, against the search of the whole file.
@Suite struct `The guide to evidence` {
    @Test(arguments: [0, 1, 2, 3, 300, 140_000])
    func `finds what the whole file has, and nothing else`(count: Int) throws {
        var generator = SeededGenerator(seed: UInt64(count) + 1)
        let digests = (0..<count).map { _ in Self.digest(&generator) }.sorted()
        let folder = try TemporaryFolder()
        let path = folder.url.appendingPathComponent("sorted").path
        let text = digests.map { $0 + String(repeating: "x", count: $0.utf8.count % 7) + "\n" }
        try Data(text.joined().utf8).write(to: URL(fileURLWithPath: path))
        var guide = DigestGuide()
        let file = try LineFile(path)
        while let line = try file.next() {
            guide.note(String(decoding: line.prefix(64), as: UTF8.self), start: file.lineStart)
        }
        let lines = try SortedLines(path)
        let sought = (0..<200).map { number in
            number % 2 == 0 ? digests.randomElement(using: &generator) : nil
        }
        for digest in sought {
            let wanted = digest ?? Self.digest(&generator)
            let part = guide.part(for: wanted, ofBytes: lines.bytes)
            let found = try lines.line(with: wanted, in: part) { line in
                String(decoding: line.prefix(64), as: UTF8.self)
            }
            #expect((found != nil) == (digest != nil))
            #expect(found.map { String(decoding: $0.prefix(64), as: UTF8.self) } == digest)
        }
    }

    private static func digest(_ generator: inout SeededGenerator) -> String {
        (0..<4).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
