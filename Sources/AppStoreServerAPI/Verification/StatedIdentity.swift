package import Subscriptions

/// The app and environment that a payload names.
package struct StatedIdentity: Hashable, Sendable {
    /// `false` for kinds of payloads that have no such member.
    package var namesBundle = true
    package var namesAppAppleID = false
    package var bundleID: String?
    package var appAppleID: Int64?
    package var environment: String?
}

/// The app and environment that payloads are compared with; what is `nil` is not compared.
package struct ExpectedIdentity: Hashable, Sendable {
    package var bundleID: String?
    /// Needed for production payloads that name it.
    package var appAppleID: Int64?
    package var environment: AppStoreEnvironment?

    package init(bundleID: String?, appAppleID: Int64?, environment: AppStoreEnvironment?) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
    }

    /// Compares the bundle first, then the App Store's id of the app, then the environment.
    ///
    /// Source: reference, comparisons after the signature.
    package func failure(of stated: StatedIdentity) -> VerificationFailure? {
        if stated.namesBundle, let bundleID {
            guard let named = stated.bundleID, named.utf8.elementsEqual(bundleID.utf8) else {
                return VerificationFailure(
                    reason: .app, detail: "it is not for the app \(bundleID)",
                    contradicted: stated.bundleID.map {
                        ContradictedSetting("bundle_id", configured: bundleID, stated: $0)
                    })
            }
        }
        if stated.namesAppAppleID, let failure = appAppleIDFailure(of: stated) { return failure }
        if let environment {
            guard stated.environment == environment.rawValue else {
                return VerificationFailure(
                    reason: .environment, detail: "it is not from \(environment.rawValue)",
                    contradicted: stated.environment.map {
                        ContradictedSetting(
                            "environment", configured: environment.rawValue, stated: $0)
                    })
            }
        } else if let named = stated.environment, UnsignedEnvironment(rawValue: named) != nil {
            return VerificationFailure(
                reason: .environment, detail: "it says that it is from \(named), not an App Store")
        }
        return nil
    }

    /// Sandbox data need not have the app's id in the App Store.
    private func appAppleIDFailure(of stated: StatedIdentity) -> VerificationFailure? {
        let isProduction =
            environment.map { $0 == .production }
            ?? (stated.environment == AppStoreEnvironment.production.rawValue && appAppleID != nil)
        guard isProduction else { return nil }
        guard let appAppleID else {
            return VerificationFailure(
                reason: .app,
                detail: "a production payload names the app's id in the App Store, and no "
                    + "app_apple_id was given to compare it with")
        }
        guard stated.appAppleID == appAppleID else {
            return VerificationFailure(
                reason: .app, detail: "it is not for the app with the configured app_apple_id",
                contradicted: stated.appAppleID.map {
                    ContradictedSetting(
                        "app_apple_id", configured: String(appAppleID), stated: String($0))
                })
        }
        return nil
    }
}

/// Environments whose data the App Store does not sign; it is refused everywhere.
package enum UnsignedEnvironment: String, Hashable, Sendable, CaseIterable {
    case xcode = "Xcode"
    case localTesting = "LocalTesting"
}

/// The payload of a JWS of Apple's.
package protocol SignedModel: AppStoreModel {
    var statedIdentity: StatedIdentity { get }
    /// When Apple signed it; `nil` when it states no date.
    var signedDate: Timestamp? { get }
    /// Members and values that this version does not know.
    var unknowns: [UnknownValue] { get }
}

extension AnswerEnvelope {
    package var statedIdentity: StatedIdentity {
        StatedIdentity(
            // Optional in Apple's model: without it the other members are compared.
            namesAppAppleID: appAppleId != nil, bundleID: bundleId, appAppleID: appAppleId,
            environment: environment)
    }
}

extension JWSTransactionDecodedPayload: SignedModel {
    package var statedIdentity: StatedIdentity {
        StatedIdentity(bundleID: bundleId, environment: environment)
    }
}

extension JWSRenewalInfoDecodedPayload: SignedModel {
    package var statedIdentity: StatedIdentity {
        StatedIdentity(namesBundle: false, environment: environment)
    }
}

extension AppTransaction: SignedModel {
    package var signedDate: Timestamp? { receiptCreationDate }

    package var statedIdentity: StatedIdentity {
        StatedIdentity(
            namesAppAppleID: true, bundleID: bundleId, appAppleID: appAppleId,
            environment: receiptType)
    }
}

extension DecodedRealtimeRequestBody: SignedModel {
    package var statedIdentity: StatedIdentity {
        StatedIdentity(
            namesBundle: false, namesAppAppleID: true, appAppleID: appAppleId,
            environment: environment)
    }
}

extension ResponseBodyV2DecodedPayload: SignedModel {
    package var statedIdentity: StatedIdentity {
        let contents: [(any AnswerEnvelope)?] = [
            data, summary, externalPurchaseToken, appData, unclaimInfo,
        ]
        guard let content = contents.compactMap(\.self).first else {
            return StatedIdentity(namesAppAppleID: true)
        }
        var stated = content.statedIdentity
        // Only released seats need not name it.
        if !(content is UnclaimInfo) { stated.namesAppAppleID = true }
        return stated
    }
}
