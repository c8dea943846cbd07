import Subscriptions

extension Sequence<TrustedRoot> {
    /// The warning that a report carries where another root than Apple's was trusted.
    package var notice: String? {
        let others = filter { !$0.isApple }.map(\.fingerprint)
        guard !others.isEmpty else { return nil }
        return "rehearsal: trusts \(others.joined(separator: ", ")), not Apple's root"
    }
}

extension ReportSource {
    /// What a reader must know before relying on the run, in one line; `nil` for a whole job under Apple's root.
    ///
    /// Every file of the report states it: as `notice` in heads and lines, as a last column in CSV.
    /// The lines of `corrections.jsonl` are hashed ledger entries; there it stands in `actor`.
    var notice: String? {
        let words = summary.header.narrowing + [context.trustedRoots.notice].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: "; ")
    }

    /// The notice as a member of a JSON head; empty where there is none.
    var noticeMember: [String: CanonicalJSON] {
        notice.map { ["notice": .string($0)] } ?? [:]
    }
}

extension Table {
    /// The same table with the notice as its last column.
    func stating(_ notice: String?) -> Table {
        guard let notice else { return self }
        // It may quote arguments of the command line.
        let cell: @Sendable (Record) -> Cell = { _ in .text(notice) }
        return Table(columns.map { ($0.name, $0.cell) } + [("notice", cell)])
    }
}
