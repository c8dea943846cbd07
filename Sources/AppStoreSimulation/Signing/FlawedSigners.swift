import Crypto
import Subscriptions
import Synchronization

/// Signers whose chain or header is wrong, made when a fault first asks for one.
final class FlawedSigners: Sendable {
    private let chain: SigningChain
    private let authority: SigningChain.Authority
    private let moment: Timestamp
    private let made = Mutex<[Distortion: PayloadSigner]>([:])
    /// Breaks finished JWS of the right chain.
    let breaker: JWSBreaker

    init(chain: SigningChain, authority: SigningChain.Authority, around moment: Timestamp) {
        self.chain = chain
        self.authority = authority
        self.moment = moment
        breaker = JWSBreaker(
            chain: chain,
            chains: FlawedChains(chain: chain, authority: authority, around: moment))
    }

    /// `nil` where the distortion leaves the right signer in place.
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
