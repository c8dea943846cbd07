/// What becomes of a payload whose certificates' revocation could not be determined.
///
/// A certificate that a signed answer calls revoked is refused in both modes.
package enum RevocationMode: String, Hashable, Sendable {
    /// It is accepted and counted.
    case soft
    /// It is neither accepted nor called invalid.
    case hard
}
