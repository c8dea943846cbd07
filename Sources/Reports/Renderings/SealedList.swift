import Subscriptions

/// A JSON document of a head, a streamed list and its own digest, one item a line.
///
/// The first line is the head, then each item has a line of its own, and the last line closes the
/// list and states the SHA-256 of all bytes before that line (`head -n -1 FILE | sha256sum`). A
/// reader can therefore stream it, and finds out when somebody edited it.
enum SealedList {
    /// Writes the document; `items` hands each item of the list to its argument, in order.
    static func write(
        head: [String: CanonicalJSON], list: String, to file: inout OutputFile,
        items: (_ append: (CanonicalJSON) throws -> Void) throws -> Void
    ) throws {
        try file.write(CanonicalJSON.object(head).rendered.dropLast() + ",\"\(list)\":[")
        var isFirst = true
        try items { item in
            try file.write((isFirst ? "\n" : ",\n") + item.rendered)
            isFirst = false
        }
        try file.write("\n")
        let digest = try file.digestSoFar()
        try file.write("],\"sha256\":\"\(digest)\"}\n")
    }
}
