package import JSONWebSignature
package import Subscriptions

/// Verifies signed payloads of any kind one by one, and collects everything about them.
///
/// The verdict comes from the same verifier, models and comparisons as in a run. Where several apps
/// are possible, the one with the best verdict counts, because a payload's own app may only be read
/// after its signature is verified. No network access of any kind.
package struct PayloadInspector: Sendable {
    /// An app that a payload may belong to, with the roots that are trusted for it.
    package struct Candidate: Sendable {
        package var expected: ExpectedIdentity
        /// Set when the requested environment is one whose data the App Store does not sign.
        package var unsignedEnvironment: UnsignedEnvironment?
        let roots: TrustedRoots
        let verifier: JWSVerifier

        /// - Throws: Never for Apple's markers.
        package init(
            expected: ExpectedIdentity, roots: TrustedRoots, now: @escaping @Sendable () -> Int64
        ) throws(JSONWebSignatureError) {
            self.expected = expected
            self.roots = roots
            verifier = try JWSVerifier(
                roots: roots, markers: AppleCertificates.markers, now: now)
        }
    }

    /// Real payloads are nested at most three times: envelope, notification, transaction.
    private static let deepestNesting = 4

    private let candidates: [Candidate]
    private let moment: Timestamp?
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - candidates: At least one.
    ///   - moment: The time for which the chain's dates are checked, instead of the payload's date.
    ///   - now: The wall clock in UNIX milliseconds, for payloads without a date.
    package init(
        candidates: [Candidate], at moment: Timestamp?, now: @escaping @Sendable () -> Int64
    ) {
        self.candidates = candidates
        self.moment = moment
        self.now = now
    }

    /// Verifies one JWS; with `kind` `nil` its members decide the kind.
    package func inspect(
        _ jws: ArraySlice<UInt8>, as kind: PayloadKind?, path: String = "", nesting: Int = 0
    ) async -> InspectedPayload {
        var best: InspectedPayload?
        for candidate in candidates {
            let found = await inspect(jws, as: kind, path: path, for: candidate)
            if best.map({ Self.rank(found.judgement) < Self.rank($0.judgement) }) ?? true {
                best = found
            }
            if found.judgement.verdict == .valid { break }
        }
        var result =
            best
            ?? InspectedPayload(
                path: path, judgement: .failed(.app, "no given or configured app matches it"),
                digest: VerifiedJWS.digest(of: jws))
        await inspectInside(&result, nesting: nesting)
        return result
    }

    /// Lower is closer to valid.
    private static func rank(_ judgement: Judgement) -> Int {
        if judgement.verdict == .valid { return 0 }
        if judgement.verdict == .undetermined { return 1 }
        let order: [VerificationFailure.Reason] = [
            .environment, .app, .chain, .signature, .certificate, .chainLength, .format,
        ]
        return 2 + (judgement.reason.flatMap(order.firstIndex) ?? order.count)
    }

    private func inspect(
        _ jws: ArraySlice<UInt8>, as kind: PayloadKind?, path: String, for candidate: Candidate
    ) async -> InspectedPayload {
        var result = InspectedPayload(
            path: path, kind: kind, judgement: .valid, digest: VerifiedJWS.digest(of: jws),
            expected: candidate.expected)
        if let environment = candidate.unsignedEnvironment, SignedPart.isJWS(jws) {
            result.judgement = .failed(
                .environment,
                "\(environment.rawValue) is not an App Store: what it signs cannot be verified")
            return result
        }
        do throws(JSONWebSignatureError) {
            let unverified = try UnverifiedJWS(jws)
            result.certificates = unverified.claimedCertificates
            try await verify(unverified, by: candidate.verifier, into: &result)
            result.anchor = candidate.roots.anchor(of: unverified)
        } catch {
            result.judgement = Judgement(VerificationFailure(error))
        }
        return result
    }

    private func verify(
        _ jws: UnverifiedJWS, by verifier: JWSVerifier, into result: inout InspectedPayload
    ) async throws(JSONWebSignatureError) {
        var kind = result.kind
        var contents: (any SignedModel)?
        let moment = moment
        let verified = try await verifier.verify(jws) {
            (payload) throws(JSONWebSignatureError) in
            kind = kind ?? PayloadKind(recognising: payload.root)
            guard let kind else {
                throw JSONWebSignatureError(
                    .format,
                    "its signature holds, but this version does not know this kind of payload")
            }
            do throws(UndecodableModel) {
                let read = try kind.contents(of: payload.root)
                contents = read
                return (moment ?? read.signedDate)?.unixMilliseconds
            } catch {
                throw JSONWebSignatureError(.format, error.description)
            }
        }
        guard let contents else {
            throw JSONWebSignatureError(.format, "the payload was not read")
        }
        result.kind = kind
        result.payload = verified.payload
        result.signedDate = contents.signedDate
        result.judgedAt =
            moment ?? contents.signedDate ?? Timestamp(unixMilliseconds: now())
        result.unknowns = contents.unknowns
        guard let expected = result.expected else { return }
        if let failure = expected.failure(of: contents.statedIdentity) {
            result.judgement = Judgement(failure)
        }
        result.notCompared = expected.gaps(for: contents.statedIdentity)
    }

    private func inspectInside(_ result: inout InspectedPayload, nesting: Int) async {
        guard let payload = result.payload, nesting < Self.deepestNesting else { return }
        for part in SignedPart.all(in: payload.root) {
            guard part.isJWS, let jws = part.value.textBytes else {
                result.unsignedParts.append(part.path)
                continue
            }
            result.inner.append(
                await inspect(jws, as: part.kind, path: part.path, nesting: nesting + 1))
        }
        result.agreement = Judgement.onAgreement(of: result.inner, in: payload.root)
    }
}

extension ExpectedIdentity {
    /// Names what the payload states and no expected value was given for.
    fileprivate func gaps(for stated: StatedIdentity) -> [String] {
        var gaps: [String] = []
        if stated.namesBundle, bundleID == nil { gaps.append("bundle") }
        if environment == nil { gaps.append("environment") }
        if stated.namesAppAppleID, appAppleID == nil, environment == nil {
            gaps.append("app_apple_id")
        }
        return gaps
    }
}

/// The kinds of signed payloads that Apple sends, by the names of `inspect --kind`.
package enum PayloadKind: String, Hashable, Sendable, CaseIterable {
    case transaction, renewalInfo, notification, appTransaction, realtimeRequest

    /// Recognises the kind by the payload's members; `nil` when it is unknown.
    ///
    /// Only for payloads whose signature and chain are valid.
    package init?(recognising payload: JSONValue) {
        let names = Set(payload.members.compactMap { $0.name.text })
        let known: [(members: Set<String>, kind: PayloadKind)] = [
            (["notificationType"], .notification), (["notificationUUID"], .notification),
            (["receiptType"], .appTransaction), (["receiptCreationDate"], .appTransaction),
            (["requestIdentifier", "userLocale"], .realtimeRequest),
            (["transactionId"], .transaction), (["autoRenewStatus"], .renewalInfo),
            (["autoRenewProductId"], .renewalInfo), (["renewalDate"], .renewalInfo),
            // Only a transaction names the app at its top.
            (["bundleId"], .transaction),
        ]
        guard let found = known.first(where: { names.isSuperset(of: $0.members) }) else {
            return nil
        }
        self = found.kind
    }

    /// Decodes a payload as this kind.
    func contents(of payload: JSONValue) throws(UndecodableModel) -> any SignedModel {
        try model.init(payload)
    }

    /// The prefix of the names of unknown members and values (`UnknownValue.field`).
    package var modelName: String { model.modelName }

    private var model: any SignedModel.Type {
        switch self {
        case .transaction: JWSTransactionDecodedPayload.self
        case .renewalInfo: JWSRenewalInfoDecodedPayload.self
        case .notification: ResponseBodyV2DecodedPayload.self
        case .appTransaction: AppTransaction.self
        case .realtimeRequest: DecodedRealtimeRequestBody.self
        }
    }
}
