import Subscriptions

extension Sequence<TrustedRoot> {
    /// What everybody must know who reads a report that trusted another root than Apple's.
    package var notice: String? {
        let others = filter { !$0.isApple }.map(\.fingerprint)
        guard !others.isEmpty else { return nil }
        return "rehearsal: trusts \(others.joined(separator: ", ")), not Apple's root"
    }
}

extension ReportSource {
    /// What limits the worth of the run, in one line; `nil` for a whole job under Apple's root.
    ///
    /// Every file of the report states it: as `notice` in heads and lines, as a last column in CSV.
    /// The lines of `corrections.jsonl` are hashed ledger entries; there it stands in `actor`.
    var notice: String? {
        let words = summary.header.narrowing + [context.trustedRoots.notice].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: "; ")
    }

    /// The member of a head; none where there is nothing to state.
    var noticeMember: [String: CanonicalJSON] {
        notice.map { ["notice": .string($0)] } ?? [:]
    }
}

extension Table {
    /// The same table with the notice as its last column.
    func stating(_ notice: String?) -> Table {
        guard let notice else { return self }
        // Words of the command line stand in it.
        let cell: @Sendable (Record) -> Cell = { _ in .text(notice) }
        return Table(columns.map { ($0.name, $0.cell) } + [("notice", cell)])
    }
}
