import Crypto

/// A leaf whose chain was verified, with everything that its next JWS needs.
struct TrustedLeaf: Sendable {
    /// The exact header segment under which it was learned: algorithm and certificates.
    let header: [UInt8]
    let key: P256.Signing.PublicKey
    /// SHA-256 after the header segment and its dot: most of a JWS is its constant header.
    let hashAfterHeader: SHA256
    let validity: ValidityPeriod
    /// Until when it may be used without asking for revocation again, in UNIX milliseconds.
    var usableUntil = Int64.max
    /// Why its revocation could not be determined; `nil` when it was, or nobody wanted to know.
    var doubt: String?
}
