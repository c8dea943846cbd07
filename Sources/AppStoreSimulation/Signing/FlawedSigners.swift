import Crypto
import Subscriptions
import Synchronization

/// Signers with an invalid chain or header, created when a fault first needs them.
final class FlawedSigners: Sendable {
    private let chain: SigningChain
    private let authority: SigningChain.Authority
    private let moment: Timestamp
    private let made = Mutex<[Distortion: PayloadSigner]>([:])
    /// Makes finished JWS of the valid chain invalid.
    let breaker: JWSBreaker

    init(chain: SigningChain, authority: SigningChain.Authority, around moment: Timestamp) {
        self.chain = chain
        self.authority = authority
        self.moment = moment
        breaker = JWSBreaker(
            chain: chain,
            chains: FlawedChains(chain: chain, authority: authority, around: moment))
    }

    /// `nil` for a distortion that uses the valid signer.
    func signer(for distortion: Distortion) -> PayloadSigner? {
        if let signer = made.withLock({ $0[distortion] }) { return signer }
        guard let signer = try? make(distortion) else { return nil }
        made.withLock { $0[distortion] = signer }
        return signer
    }

    private func make(_ distortion: Distortion) throws -> PayloadSigner? {
        switch distortion {
        case .expiredLeaf:
            PayloadSigner(
                chain: try authority.issue(
                    around: moment, flaws: SigningChain.Flaws(leafIsExpired: true)))
        case .wrongLeafMarker:
            PayloadSigner(
                chain: try authority.issue(
                    around: moment, flaws: SigningChain.Flaws(leafHasMarker: false)))
        case .wrongIntermediateMarker:
            PayloadSigner(chain: try chainWithUnmarkedIntermediate())
        case .foreignRoot: PayloadSigner(chain: try SigningChain.make(around: moment))
        case .algorithmNone:
            PayloadSigner(
                header: PayloadSigner.header(certificates: chain.certificates, algorithm: "none"),
                key: chain.leafKey)
        case .twoCertificates:
            PayloadSigner(
                header: PayloadSigner.header(certificates: Array(chain.certificates.prefix(2))),
                key: chain.leafKey)
        case .fourCertificates:
            PayloadSigner(
                header: PayloadSigner.header(
                    certificates: chain.certificates + chain.certificates.suffix(1)),
                key: chain.leafKey)
        default: nil
        }
    }

    private func chainWithUnmarkedIntermediate() throws -> SigningChain {
        let flaws = SigningChain.Flaws(intermediateHasMarker: false)
        return try authority.withOtherIntermediate(around: moment, flaws: flaws)
            .issue(around: moment, flaws: flaws)
    }
}

/// Chains that no client may accept, each created when it is first needed.
final class FlawedChains: Sendable {
    private let chain: SigningChain
    private let authority: SigningChain.Authority
    private let moment: Timestamp
    private let made = Mutex<[BrokenJWS: SigningChain]>([:])

    init(chain: SigningChain, authority: SigningChain.Authority, around moment: Timestamp) {
        self.chain = chain
        self.authority = authority
        self.moment = moment
    }

    /// `nil` for a form that does not concern the chain, or if the chain cannot be created.
    func chain(_ form: BrokenJWS) -> SigningChain? {
        if let chain = made.withLock({ $0[form] }) { return chain }
        guard let chain = try? make(form) else { return nil }
        made.withLock { $0[form] = chain }
        return chain
    }

    private func make(_ form: BrokenJWS) throws -> SigningChain? {
        switch form {
        case .leafOfAnotherIntermediate:
            // The leaf of another intermediate of the same root.
            let other = try authority.withOtherIntermediate(around: moment, flaws: .init())
                .issue(around: moment)
            return other.with(certificates: [
                other.certificates[0], chain.certificates[1], chain.certificates[2],
            ])
        case .leafUnderRoot:
            let other = try authority.issueUnderRoot(around: moment)
            return other.with(certificates: [
                other.certificates[0], chain.certificates[1], chain.certificates[2],
            ])
        case .leafNotYetValid:
            return try authority.issue(around: moment, flaws: .init(leafIsNotYetValid: true))
        case .leafSignatureCorrupt:
            var certificates = chain.certificates
            let last = certificates[0].count - 1
            certificates[0][last] ^= 1
            return chain.with(certificates: certificates)
        case .intermediateExpired, .intermediateNotAuthority:
            let flaws = SigningChain.Flaws(
                intermediateIsExpired: form == .intermediateExpired,
                intermediateIsAuthority: form != .intermediateNotAuthority)
            return try authority.withOtherIntermediate(around: moment, flaws: flaws)
                .issue(around: moment)
        case .selfSignedThrice:
            return try SigningChain.selfSigned(around: moment)
        default: return nil
        }
    }
}
