import Subscriptions
import Synchronization

/// Chains that no client may accept, each made when it is first asked for.
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

    /// `nil` for a form that is not about the chain, or where the chain cannot be made.
    func chain(_ form: BrokenJWS) -> SigningChain? {
        if let chain = made.withLock({ $0[form] }) { return chain }
        guard let chain = try? make(form) else { return nil }
        made.withLock { $0[form] = chain }
        return chain
    }

    private func make(_ form: BrokenJWS) throws -> SigningChain? {
        switch form {
        case .leafOfAnotherIntermediate:
            // The leaf of one intermediate beside another one of the same root.
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
