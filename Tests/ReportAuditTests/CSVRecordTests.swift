import TestSupport
import Testing

@testable import ReportAudit

/// Records read by position, against the plain reading of RFC 4180.
@Suite struct `CSV records by position` {
    /// Byte by byte, field by field.
    private static func plainly(_ record: [UInt8]) -> [String] {
        let quote = UInt8(ascii: "\"")
        var fields: [String] = []
        var field: [UInt8] = []
        var isQuoted = false
        var index = 0
        while index < record.count {
            let byte = record[index]
            if byte == quote, isQuoted, index + 1 < record.count, record[index + 1] == quote {
                field.append(quote)
                index += 1
            } else if byte == quote {
                isQuoted.toggle()
            } else if byte == UInt8(ascii: ","), !isQuoted {
                fields.append(String(decoding: field, as: UTF8.self))
                field = []
            } else {
                field.append(byte)
            }
            index += 1
        }
        return fields + [String(decoding: field, as: UTF8.self)]
    }

    /// Any bytes, most of them those that mean something; as many quotes as make whole ones.
    private static func record(_ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
            Array("\"\",,a é'\n0".utf8).randomElement(using: &generator) ?? 0
        }
        if bytes.count(where: { $0 == UInt8(ascii: "\"") }) % 2 == 1 {
            bytes.append(UInt8(ascii: "\""))
        }
        return bytes
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func `have the plain fields`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let bytes = Self.record(&generator)
            #expect(CSVRecord(bytes, columns: []).fields == Self.plainly(bytes))
        }
    }

    @Test func `repeat a field only with the same bytes`() {
        let first = CSVRecord(Array("a,\"b\",c".utf8), columns: ["x", "y", "z"])
        let second = CSVRecord(Array("a,b,cc".utf8), columns: ["x", "y", "z"])
        #expect(second.repeats(0..<1, of: first))
        #expect(!second.repeats(1..<2, of: first))
        #expect(!second.repeats(0..<3, of: first))
        #expect(first["y"] == "b")
        #expect(first["w"] == nil)
    }
}
