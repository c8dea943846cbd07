/// The ledger as it goes on from run to run: numbers without gaps, each entry on the one before.
struct LedgerTrail {
    static let beginning = String(repeating: "0", count: 64)

    /// The entries of one run's `corrections.jsonl`.
    private struct Page {
        let path: String
        let numbers: ClosedRange<Int64>
    }

    private var pages: [Page] = []
    /// Of the newest entry so far; `nil` before the first, or where only its hash is known.
    private(set) var number: Int64?
    /// Of the newest entry so far; `nil` where the trail has not begun.
    private(set) var hash: String?
    private var first: Int64?
    private var highest: Int64?
    /// Hashes that an anchor may name besides those that the manifests state.
    private(set) var firstPrevious: String?

    /// Goes on to the next entry.
    ///
    /// - Returns: What is wrong with its place.
    mutating func take(_ number: Int64, previous: String, hash: String) -> String? {
        defer {
            self.number = number
            self.hash = hash
            first = first ?? number
            highest = max(highest ?? number, number)
        }
        guard let last = self.hash else {
            firstPrevious = previous
            return previous == Self.beginning && number != 1
                ? "it is the first of the ledger, but not number 1" : nil
        }
        if let repeated = repeated(number) {
            // A run killed at its last step reports its corrections; so does the next one.
            return repeated.isSame(as: hash)
                ? nil : "an earlier run reports this number with other contents"
        }
        if let known = self.number {
            if number <= known { return "its number does not go on from \(known)" }
            if number > known + 1 {
                return "the ledger has a gap: the entry before should be \(number - 1), but is "
                    + "\(known)"
            }
        }
        return previous.isSame(as: last)
            ? nil : "it does not rest on the entry before, whose hash is \(last)"
    }

    /// Ends a run.
    ///
    /// - Returns: What is wrong with the head that its manifest states.
    mutating func close(path: String, head: String) -> String? {
        let hadEntries = first != nil
        if let first, let highest, first <= highest {
            pages.append(Page(path: path, numbers: first...highest))
        }
        first = nil
        highest = nil
        guard let last = hash else {
            hash = head
            number = head == Self.beginning ? 0 : nil
            return nil
        }
        guard !last.isSame(as: head) else { return nil }
        hash = head
        number = nil
        return hadEntries
            ? "its ledger_head is not the hash of the last entry of corrections.jsonl: the tail was "
                + "cut, or the head edited"
            : "its ledger_head has moved, but corrections.jsonl lists no entry of this run"
    }

    /// Goes on behind a run whose entries cannot be read; `nil` when not even its head is known.
    mutating func skip(toHead head: String?) {
        hash = head
        number = nil
    }

    /// An entry of an earlier run that is still there.
    func entry(_ number: Int64) -> JSONRecord? {
        guard let page = pages.last(where: { $0.numbers.contains(number) }) else { return nil }
        let line = try? SortedLines(page.path).line { line in
            guard let found = JSONRecord(line)?.integer("ledger_entry") else { return .after }
            return number == found ? .here : number < found ? .before : .after
        }
        return line.flatMap { JSONRecord($0) }
    }

    private func repeated(_ number: Int64) -> String? {
        entry(number)?.text("ledger_hash")
    }
}
