package import JSONWebSignature
package import Subscriptions

/// One JWS as `inspect` found it, with the JWS inside its payload.
package struct InspectedPayload: Sendable {
    /// Where it stands in what was inspected (`data.signedTransactionInfo`); empty for the whole.
    package var path: String
    package var kind: PayloadKind?
    package var judgement: Judgement
    /// SHA-256 of the text as received.
    package var digest: String
    /// The payload as received; only when signature and chain hold.
    package var payload: JSONDocument?
    /// When the payload says that it was signed; only with a payload.
    package var signedDate: Timestamp?
    /// The moment at which the chain's dates were judged; only with a payload.
    package var judgedAt: Timestamp?
    /// The header's certificates, the leaf first: claims, unless the chain holds.
    package var certificates: [CertificateFacts] = []
    /// The trusted root that the chain ends at; only with a payload.
    package var anchor: CertificateFacts?
    /// Whose payload it is taken for.
    package var expected: ExpectedIdentity?
    /// What could not be compared because nobody said what it should be.
    package var notCompared: [String] = []
    package var unknowns: [UnknownValue] = []
    /// Members that should be signed and are no JWS; what is around them is signed.
    package var unsignedParts: [String] = []
    /// The JWS inside the payload, each judged by itself.
    package var inner: [InspectedPayload] = []
    /// Whether those inside name the same subscription.
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
