import Subscriptions

/// Revisions and page tokens.
///
/// They contain their position and a check value bound to the query, so the service stores nothing
/// and old ones stay valid.
struct PageTokens: Sendable {
    let seed: UInt64

    /// Where a history continues: behind this transaction in the order of modification.
    struct Revision: Equatable, Sendable {
        var modified: Timestamp
        var transactionID: UInt64
    }

    /// `queryDigest`: digest of the query that the revision belongs to.
    func text(_ revision: Revision, queryDigest: UInt64) -> String {
        let body = "\(revision.modified.unixMilliseconds)_\(revision.transactionID)"
        return "\(body)_\(check(body, queryDigest: queryDigest))"
    }

    /// `nil` for a text that was not issued for this query.
    func revision(_ text: String, queryDigest: UInt64) -> Revision? {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, let modified = Int64(parts[0]), let id = UInt64(parts[1]),
            String(parts[2]) == check("\(modified)_\(id)", queryDigest: queryDigest)
        else { return nil }
        return Revision(
            modified: Timestamp(unixMilliseconds: modified), transactionID: id)
    }

    /// Where a notification history continues: a number of records after a moment, because indexes in
    /// the growing list change.
    struct Page: Equatable, Sendable {
        var from: Timestamp
        var skip: Int
        /// The end of the window on the first page.
        var end: Timestamp
        var issued: Timestamp

        fileprivate var text: String {
            [from.unixMilliseconds, Int64(skip), end.unixMilliseconds, issued.unixMilliseconds]
                .map(String.init).joined(separator: "-")
        }
    }

    /// `queryDigest`: digest of the query's values.
    func text(_ page: Page, queryDigest: UInt64) -> String {
        "\(page.text)-\(check(page.text, queryDigest: queryDigest))"
    }

    /// The contents of a token, before it is checked that it was issued for the query.
    func claimedPage(_ text: String) -> Page? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 5, let from = Int64(parts[0]), let skip = Int(parts[1]), skip >= 0,
            let end = Int64(parts[2]), let issued = Int64(parts[3])
        else { return nil }
        return Page(
            from: Timestamp(unixMilliseconds: from), skip: skip,
            end: Timestamp(unixMilliseconds: end), issued: Timestamp(unixMilliseconds: issued))
    }

    /// Whether a token was issued for this query.
    func admits(_ text: String, _ page: Page, queryDigest: UInt64) -> Bool {
        text == self.text(page, queryDigest: queryDigest)
    }

    private func check(_ text: String, queryDigest: UInt64) -> String {
        String(SeededRandom.mixed(Self.digest(Array(text.utf8)) ^ queryDigest ^ seed), radix: 36)
    }

    /// FNV-1a with mixed bits; a simulator's tokens need no protection against forgery.
    static func digest(_ bytes: [UInt8]) -> UInt64 {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return SeededRandom.mixed(value)
    }
}
