import FoundationEssentials
import HummingbirdTLS

/// The correct TLS configuration of the simulated App Store, and the faulty ones of fault plans.
enum TLSVariant: Hashable, Sendable, CaseIterable {
    case right, wrongHost, expired, notYetValid, foreignAuthority, selfSigned, oldVersion

    /// `nil` for a fault that does not concern TLS.
    init?(_ fault: ConnectionFault) {
        switch fault {
        case .tlsWrongHost: self = .wrongHost
        case .tlsExpired: self = .expired
        case .tlsNotYetValid: self = .notYetValid
        case .tlsForeignAuthority: self = .foreignAuthority
        case .tlsSelfSigned: self = .selfSigned
        case .tlsOldVersion: self = .oldVersion
        case .refused, .stalled, .reset, .http1Only: return nil
        }
    }

    /// At least TLS 1.2, as Apple requires, except for the variant `oldVersion`.
    func configuration(_ authority: TLSAuthority) throws -> TLSConfiguration {
        let identity = try identity(authority)
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(identity.serverPEM.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = self == .oldVersion ? .tlsv1 : .tlsv12
        if self == .oldVersion { configuration.maximumTLSVersion = .tlsv11 }
        return configuration
    }

    private func identity(_ authority: TLSAuthority) throws -> TLSIdentity {
        let (now, day) = (Date(), 86_400.0)
        switch self {
        case .right, .oldVersion: return try authority.identity()
        case .wrongHost: return try authority.identity(hosts: ["wrong.example.com"])
        case .expired:
            return try authority.identity(
                notBefore: now.addingTimeInterval(-1.5 * day),
                notAfter: now.addingTimeInterval(-day / 24))
        case .notYetValid:
            return try authority.identity(
                notBefore: now.addingTimeInterval(day), notAfter: now.addingTimeInterval(30 * day))
        case .foreignAuthority:
            return try TLSAuthority.make(now: now, hosts: authority.hosts).identity()
        case .selfSigned: return try authority.selfSigned()
        }
    }
}
