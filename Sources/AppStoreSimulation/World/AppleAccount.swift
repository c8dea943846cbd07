/// A customer: one Apple Account with what it bought in the app.
struct AppleAccount: Sendable {
    /// The first chain of the account, or -1; the others follow by `nextOfAccount`.
    var firstChain: Int32 = -1
    var storefront: UInt8
    /// Whether the app supplied an `appAccountToken` with its purchases.
    var hasToken: Bool
    /// A deleted account: Apple answers 4040001.
    var isDeleted = false
}
