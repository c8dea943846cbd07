import RowFiles
import Subscriptions

/// Names the bad lines of a file on standard error while it is being read.
struct BadLineLog {
    /// Without `--skip-bad-rows` the file is refused anyway, and its first faults tell enough.
    static let namedWhenRefusing = 20

    private let file: String
    private let namesAll: Bool
    private let asJSON: Bool
    private(set) var count = 0

    init(file: String, namesAll: Bool, asJSON: Bool) {
        self.file = file == "-" ? "standard input" : file
        self.namesAll = namesAll
        self.asJSON = asJSON
    }

    mutating func note(_ bad: BadLine, in invocation: Invocation) {
        count += 1
        guard namesAll || count <= Self.namedWhenRefusing else { return }
        guard asJSON else {
            invocation.say("\(file):\(bad.line): \(bad.reason)")
            return
        }
        let members: [String: CanonicalJSON] = [
            "file": .string(file), "line": .integer(Int64(bad.line)),
            "reason": .string(bad.reason),
        ]
        invocation.say(CanonicalJSON.object(members).rendered)
    }

    /// Why the file is refused as a whole.
    var refusal: CommandFailure {
        let more = count - Self.namedWhenRefusing
        return CommandFailure(
            .data,
            "\(file): \(count) bad \(count == 1 ? "line" : "lines")"
                + (more > 0 ? " (the first \(Self.namedWhenRefusing) are named above)" : "")
                + "; nothing was loaded. Mend the file, or leave bad lines out with --skip-bad-rows"
        )
    }
}
