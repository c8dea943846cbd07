import Crypto
import Subscriptions

/// Reads `plan.json` and `undo.json`: a head, one item a line, and in the last line the digest of
/// all lines before it.
struct SealedList {
    /// Takes a problem and its line.
    typealias Report = (_ line: Int, _ text: String) -> Void

    private let lines: LineFile
    private var hash = SHA256()
    /// The next line, read ahead because the last line is the seal.
    private var ahead: [UInt8]?

    /// The head without the list; `nil` when the first line is no head.
    let head: JSONRecord?

    /// Opens a file and reads its head.
    ///
    /// - Throws: When it cannot be read.
    init(_ path: String) throws(UnreadableFile) {
        lines = try LineFile(path)
        let first = try lines.next() ?? []
        hash.update(data: first + [0x0A])
        head = JSONRecord(first + Array("]}".utf8))
        ahead = try lines.next()
    }

    var lineNumber: Int { lines.lineNumber - 1 }

    /// The next item; `nil` at the end, after which the seal has been checked.
    mutating func next(_ report: Report) throws(UnreadableFile) -> JSONRecord? {
        while let line = ahead {
            ahead = try lines.next()
            guard ahead != nil else {
                checkSeal(line, report)
                return nil
            }
            hash.update(data: line + [0x0A])
            let isLast = line.last != UInt8(ascii: ",")
            let text = isLast ? line : Array(line[..<(line.count - 1)])
            if let item = JSONRecord(text) { return item }
            report(lineNumber, "it is not an item of the list")
        }
        return nil
    }

    private func checkSeal(_ last: [UInt8], _ report: Report) {
        let digest = hash.finalize().hexadecimal
        if !last.elementsEqual("],\"sha256\":\"\(digest)\"}".utf8) {
            report(
                lines.lineNumber,
                "the last line does not state the digest of the lines before it: the list was "
                    + "edited or cut")
        }
    }
}
