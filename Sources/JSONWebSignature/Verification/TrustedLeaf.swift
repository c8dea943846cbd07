import Crypto

/// A leaf whose chain was verified, with everything that its next JWS needs.
struct TrustedLeaf: Sendable {
    /// The exact header segment under which it was learned: algorithm and certificates.
    let header: [UInt8]
    let key: P256.Signing.PublicKey
    /// SHA-256 after the header segment and its dot: most of a JWS is its constant header.
    let hashAfterHeader: SHA256
    let validity: ValidityPeriod
}
