package import Subscriptions

/// The port to the books in which all processes that share an app's quota enter their calls.
///
/// The limit of an hour belongs to the books: whoever makes them knows the app's share.
package protocol QuotaBook: Sendable {
    /// Books calls before they are made.
    ///
    /// - Parameters:
    ///   - wanted: How many calls are wanted, at least one.
    ///   - endpoint: Where they go.
    ///   - unused: What is left of an earlier grant and not going to be made.
    /// - Returns: Up to as many calls as wanted; none where the hour is used up, and none, with the
    ///   `refusal`, while a 429 holds that was kept by whatever process.
    /// - Throws: `QuotaBookFailure`: nothing is known to be booked, so no call may be made.
    func book(
        _ wanted: Int, of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) async throws(QuotaBookFailure) -> QuotaGrant

    /// Takes back what was booked and is not going to be made.
    ///
    /// Where that fails the calls count as made, as those of a killed process do.
    func giveBack(_ unused: QuotaGrant, of endpoint: Endpoint) async

    /// Keeps a 429 for every process that books here, also those that begin later; where that fails
    /// they learn it from Apple.
    func keep(_ refusal: QuotaRefusal, of endpoint: Endpoint) async
}

/// The books could not be read or written; the text says why.
package struct QuotaBookFailure: Error, Hashable, Sendable {
    package var text: String
    /// Set where the run must end with it, because nobody knows what other workers have booked.
    package var end: StoreError?

    package init(_ text: String) {
        self.text = text
    }

    /// - Parameter end: With what the run ends.
    package init(endingWith end: StoreError) {
        text = end.description
        self.end = end
    }
}
