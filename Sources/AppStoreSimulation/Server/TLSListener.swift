import HummingbirdTLS

/// TLS as the simulated App Store offers it: at least version 1.2, as Apple asks for.
enum TLSListener {
    static func configuration(_ identity: TLSIdentity) throws -> TLSConfiguration {
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(identity.serverPEM.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        return configuration
    }
}
