/// What revocation has meant so far for payloads that hold in every other respect.
package struct RevocationTally: Hashable, Sendable {
    /// Payloads whose certificates could not be asked about: accepted in soft mode, not in hard.
    package var undetermined = 0
    /// Why, of the latest one.
    package var doubt = ""
    /// Payloads refused because a certificate of theirs is revoked.
    package var revoked = 0
    /// Which one, and by whose word.
    package var revocation = ""

    package init() {}
}
