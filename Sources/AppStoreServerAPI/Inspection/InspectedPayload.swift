package import JSONWebSignature
package import Subscriptions

/// The result of inspecting one JWS, with the JWS inside its payload.
package struct InspectedPayload: Sendable {
    /// Its path in the inspected text (`data.signedTransactionInfo`); empty for the whole text.
    package var path: String
    package var kind: PayloadKind?
    package var judgement: Judgement
    /// SHA-256 of the text as received.
    package var digest: String
    /// The payload as received; only when signature and chain are valid.
    package var payload: JSONDocument?
    /// The date of signing that the payload states; only with a payload.
    package var signedDate: Timestamp?
    /// The time for which the chain's dates were checked; only with a payload.
    package var judgedAt: Timestamp?
    /// The header's certificates, the leaf first; not verified unless the chain is valid.
    package var certificates: [CertificateFacts] = []
    /// The trusted root of the chain; only with a payload.
    package var anchor: CertificateFacts?
    /// The app and environment that it was compared with.
    package var expected: ExpectedIdentity?
    /// What was not compared, because no expected value was given.
    package var notCompared: [String] = []
    package var unknowns: [UnknownValue] = []
    /// Members that should be a JWS and are not.
    package var unsignedParts: [String] = []
    /// The JWS inside the payload, each with its own verdict.
    package var inner: [InspectedPayload] = []
    /// Whether the payloads inside name the same subscription.
    package var agreement = Judgement.valid

    package init(
        path: String, kind: PayloadKind? = nil, judgement: Judgement, digest: String,
        expected: ExpectedIdentity? = nil
    ) {
        self.path = path
        self.kind = kind
        self.judgement = judgement
        self.digest = digest
        self.expected = expected
    }

    /// The verdict on this payload and everything signed inside it.
    package var overall: Judgement {
        .worst(of: [judgement, agreement] + inner.map(\.overall))
    }
}
