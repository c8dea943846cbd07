package import Subscriptions

/// A decoded payload whose signature, chain, dates, app and environment held.
///
/// Only `SignedDataVerifier` makes one.
package struct VerifiedModel<Model: AppStoreModel>: Sendable {
    package let model: Model
    package let evidence: SignedPayload
}
