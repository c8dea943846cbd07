/// How many payloads had nothing against them but certificates whose revocation is not known.
///
/// In soft mode they were accepted, in hard mode they were not.
package struct UndeterminedPayloads: Hashable, Sendable {
    package var count = 0
    /// Why, of the latest one.
    package var detail = ""
}
