package import JSONWebSignature
package import Subscriptions

/// Verifies and decodes Apple's signed data for one app in one environment.
///
/// First the signature, chain and dates (`JWSVerifier`), then the payload's app, then its
/// environment. Data from Xcode or local testing is not signed by the App Store and is never
/// accepted; these environments cannot be configured.
package struct SignedDataVerifier: Sendable {
    package let app: AppIdentity
    private let appAppleID: Int64?
    private let verifier: JWSVerifier

    /// - Parameters:
    ///   - app: The app and environment whose data is accepted.
    ///   - appAppleID: The app's id in the App Store; needed for production notifications.
    ///   - verifier: Shared by all apps, so that they share its cache.
    package init(app: AppIdentity, appAppleID: Int64?, verifier: JWSVerifier) {
        self.app = app
        self.appAppleID = appAppleID
        self.verifier = verifier
    }

    /// Remarks on revocation, in sentences for the person on call; empty when there is no problem.
    package var remarks: [String] {
        guard let mode = verifier.revocationMode else { return [] }
        let tally = verifier.revocationTally
        let app = "\(app.bundleID) (\(app.environment.rawValue))"
        var sentences: [String] = []
        if tally.revoked > 0 {
            sentences.append(
                "\(tally.revoked) signed payloads of \(app) were refused: \(tally.revocation). "
                    + "No row was changed by them. Ask Apple which certificate signs now before "
                    + "running again.")
        }
        if tally.undetermined > 0 {
            let consequence =
                switch mode {
                case .soft: "They were accepted, because revocation is soft."
                case .hard:
                    "Because revocation is hard they were not believed: no row was changed by "
                        + "them, and the next run asks again."
                }
            sentences.append(
                "\(tally.undetermined) signed payloads of \(app) hold as far as they could be "
                    + "checked, but \(tally.doubt). \(consequence)")
        }
        return sentences
    }

    package func transaction(
        _ jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> VerifiedModel<JWSTransactionDecodedPayload> {
        let verified = try await verify(
            jws, as: JWSTransactionDecodedPayload.self, signedDate: \.signedDate)
        try check(verified.model.statedIdentity)
        return verified
    }

    /// Renewal info names no app; callers must compare it with the transaction beside it.
    package func renewalInfo(
        _ jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> VerifiedModel<JWSRenewalInfoDecodedPayload> {
        let verified = try await verify(
            jws, as: JWSRenewalInfoDecodedPayload.self, signedDate: \.signedDate)
        try check(verified.model.statedIdentity)
        return verified
    }

    /// The signed parts inside the notification are not verified here.
    ///
    /// Apple adds kinds of content with new types. A notification with unknown content names no app
    /// that could be compared. It is accepted, so that reading the history can go on.
    package func notification(
        _ jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> VerifiedModel<ResponseBodyV2DecodedPayload> {
        let verified = try await verify(
            jws, as: ResponseBodyV2DecodedPayload.self, signedDate: \.signedDate)
        if verified.model.hasKnownContent { try check(verified.model.statedIdentity) }
        return verified
    }

    package func appTransaction(
        _ jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> VerifiedModel<AppTransaction> {
        let verified = try await verify(
            jws, as: AppTransaction.self, signedDate: \.receiptCreationDate)
        try check(verified.model.statedIdentity)
        return verified
    }

    /// Whether an unsigned envelope names this app and environment.
    func envelopeFailure(of envelope: some AnswerEnvelope) -> VerificationFailure? {
        expected.failure(of: envelope.statedIdentity)
    }

    private func verify<Model: AppStoreModel>(
        _ jws: ArraySlice<UInt8>, as type: Model.Type,
        signedDate: (Model) -> Timestamp?
    ) async throws(VerificationFailure) -> VerifiedModel<Model> {
        do throws(JSONWebSignatureError) {
            let unverified = try UnverifiedJWS(jws)
            var decoded: Model?
            let verified = try await verifier.verify(unverified) {
                (payload) throws(JSONWebSignatureError) in
                let model = try Self.decode(payload, as: type)
                decoded = model
                return signedDate(model)?.unixMilliseconds
            }
            guard let decoded else {
                throw JSONWebSignatureError(.format, "the payload was not read")
            }
            return VerifiedModel(
                model: decoded,
                evidence: SignedPayload(
                    digest: EvidenceDigest(hexadecimal: verified.digest),
                    received: verified.received))
        } catch {
            throw VerificationFailure(error)
        }
    }

    private static func decode<Model: AppStoreModel>(
        _ payload: JSONDocument, as type: Model.Type
    ) throws(JSONWebSignatureError) -> Model {
        do {
            return try Model(payload.root)
        } catch {
            throw JSONWebSignatureError(.format, error.description)
        }
    }

    private var expected: ExpectedIdentity {
        ExpectedIdentity(
            bundleID: app.bundleID, appAppleID: appAppleID, environment: app.environment)
    }

    private func check(_ stated: StatedIdentity) throws(VerificationFailure) {
        if let failure = expected.failure(of: stated) { throw failure }
    }
}

extension VerificationFailure {
    init(_ error: JSONWebSignatureError) {
        let reason: Reason =
            switch error.reason {
            case .format: .format
            case .chainLength: .chainLength
            case .certificate: .certificate
            case .chain: .chain
            case .signature, .key: .signature
            case .undetermined: .revocation
            }
        self.init(reason: reason, detail: error.detail)
    }
}

/// A decoded payload whose signature, chain, dates, app and environment are verified.
///
/// Only `SignedDataVerifier` creates one.
package struct VerifiedModel<Model: AppStoreModel>: Sendable {
    package let model: Model
    package let evidence: SignedPayload
}
