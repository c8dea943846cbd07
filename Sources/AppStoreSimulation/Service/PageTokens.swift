import Subscriptions

/// Revisions and page tokens: they carry their place and what they are bound to, so that nothing
/// has to be remembered and an old one still works.
struct PageTokens: Sendable {
    let seed: UInt64

    /// Where a history goes on: behind this transaction in the order of modification.
    struct Revision: Equatable, Sendable {
        var modified: Timestamp
        var transactionID: UInt64
    }

    /// `question`: digest of what the revision belongs to.
    func text(_ revision: Revision, question: UInt64) -> String {
        let body = "\(revision.modified.unixMilliseconds)_\(revision.transactionID)"
        return "\(body)_\(check(body, question: question))"
    }

    /// `nil` for a text that was not given for this question.
    func revision(_ text: String, question: UInt64) -> Revision? {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, let modified = Int64(parts[0]), let id = UInt64(parts[1]),
            String(parts[2]) == check("\(modified)_\(id)", question: question)
        else { return nil }
        return Revision(
            modified: Timestamp(unixMilliseconds: modified), transactionID: id)
    }

    /// Where a reading of the notification history goes on: so many records after a moment, since
    /// places in a growing list move.
    struct Page: Equatable, Sendable {
        var from: Timestamp
        var skip: Int
        /// The end of the window as it was understood on the first page.
        var end: Timestamp
        var issued: Timestamp

        fileprivate var text: String {
            [from.unixMilliseconds, Int64(skip), end.unixMilliseconds, issued.unixMilliseconds]
                .map(String.init).joined(separator: "-")
        }
    }

    /// `question`: digest of what was asked, whatever its bytes were.
    func text(_ page: Page, question: UInt64) -> String {
        "\(page.text)-\(check(page.text, question: question))"
    }

    /// What a token says, before it is known whether it was given for the question.
    func claimedPage(_ text: String) -> Page? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 5, let from = Int64(parts[0]), let skip = Int(parts[1]), skip >= 0,
            let end = Int64(parts[2]), let issued = Int64(parts[3])
        else { return nil }
        return Page(
            from: Timestamp(unixMilliseconds: from), skip: skip,
            end: Timestamp(unixMilliseconds: end), issued: Timestamp(unixMilliseconds: issued))
    }

    /// Whether a page's token was given for this question.
    func admits(_ text: String, _ page: Page, question: UInt64) -> Bool {
        text == self.text(page, question: question)
    }

    private func check(_ text: String, question: UInt64) -> String {
        String(SeededRandom.mixed(Self.digest(Array(text.utf8)) ^ question ^ seed), radix: 36)
    }

    /// FNV-1a, scattered: nobody has to be kept from forging a simulator's token.
    static func digest(_ bytes: [UInt8]) -> UInt64 {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return SeededRandom.mixed(value)
    }
}
