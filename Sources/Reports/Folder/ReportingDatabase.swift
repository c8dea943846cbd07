/// The database whose runs a report folder holds.
package struct ReportingDatabase: Hashable, Sendable {
    /// Made once with the database and never changed; a copy or a backup has the same.
    package var identity: String
    package var path: String

    package init(identity: String, path: String) {
        self.identity = identity
        self.path = path
    }
}
