/// What a command may do to the database that it opens.
package enum StoreAccess: Hashable, Sendable {
    case readWrite
    /// Nothing of the file changes, not a byte, whatever state it was left in.
    case readOnly
}
