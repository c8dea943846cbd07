import RowFiles
import Subscriptions

/// Names the bad lines of a file on standard error while it is being read.
struct BadLineLog {
    /// Without `--skip-bad-rows` the file is refused anyway, and its first faults tell enough.
    static let namedWhenRefusing = 20

    private let file: String
    private let namesAll: Bool
    private let asJSON: Bool
    /// Where all of them are written.
    private let copy: BadRowsFile?
    private(set) var count = 0

    init(file: String, namesAll: Bool, asJSON: Bool, copy: BadRowsFile? = nil) {
        self.file = file == "-" ? "standard input" : file
        self.namesAll = namesAll
        self.asJSON = asJSON
        self.copy = copy
    }

    mutating func note(_ bad: BadLine, in invocation: Invocation) throws(CommandFailure) {
        count += 1
        try copy?.add(bad, of: file)
        guard namesAll || count <= Self.namedWhenRefusing else { return }
        guard asJSON else {
            invocation.say("\(file):\(bad.line): \(bad.reason)")
            return
        }
        invocation.say(bad.json(of: file).rendered)
    }

    /// Hands on what is still held back of the copy.
    func finish() throws(CommandFailure) { try copy?.finish() }

    /// Why the file is refused as a whole.
    var refusal: CommandFailure {
        let more = namesAll ? 0 : count - Self.namedWhenRefusing
        return CommandFailure(
            .data,
            "\(file): \(count) bad \(count == 1 ? "line" : "lines")"
                + (more > 0
                    ? " (the first \(Self.namedWhenRefusing) are named above; "
                        + "--bad-rows FILE or --json gives all)" : "")
                + "; nothing was loaded. Mend the file, or leave bad lines out with --skip-bad-rows"
        )
    }
}
