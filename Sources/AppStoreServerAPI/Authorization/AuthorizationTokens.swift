/// The source of bearer tokens for one app.
package protocol AuthorizationTokens: Sendable {
    /// The token in use; a new one is signed shortly before it ends, by the wall clock.
    func current() throws(AuthorizationError) -> String

    /// A token other than `rejected`, which Apple answered with a 401. Concurrent callers that
    /// were refused with the same token get the same new one.
    func renewed(after rejected: String) throws(AuthorizationError) -> String
}

/// Why no token could be signed; never quotes the key.
package struct AuthorizationError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}
