import Crypto
import FoundationEssentials
import Subscriptions
import SwiftASN1
import X509

/// All keys and certificates of a simulator.
struct SimulatorKeys: Sendable {
    /// Signs the client's tokens.
    let client: P256.Signing.PrivateKey
    /// Signs tokens for App Store Connect's API.
    let connect: P256.Signing.PrivateKey
    let tls: TLSAuthority
    let authority: SigningChain.Authority
    let chain: SigningChain

    static func make(
        around moment: Timestamp, leafDays: Int64?, intermediateDays: Int64?, hosts: [String],
        ocspAddress: String?
    ) throws -> SimulatorKeys {
        let authority =
            if let ocspAddress {
                try SigningChain.Authority.make(
                    around: moment, intermediateDays: intermediateDays, ocspAddress: ocspAddress)
            } else {
                try SigningChain.Authority.make(
                    around: moment, intermediateDays: intermediateDays)
            }
        return SimulatorKeys(
            client: P256.Signing.PrivateKey(), connect: P256.Signing.PrivateKey(),
            tls: try TLSAuthority.make(now: Date(), hosts: hosts), authority: authority,
            chain: try authority.issueFirst(
                around: moment, days: leafDays ?? SigningChain.Authority.leafDays))
    }

    init(
        client: P256.Signing.PrivateKey, connect: P256.Signing.PrivateKey, tls: TLSAuthority,
        authority: SigningChain.Authority, chain: SigningChain
    ) {
        self.client = client
        self.connect = connect
        self.tls = tls
        self.authority = authority
        self.chain = chain
    }

    /// Keys and certificates in PEM, as they are stored.
    struct Text: Codable {
        var client: String
        /// Missing in a folder of an earlier version.
        var connect: String?
        var tlsRoot: String
        var tlsRootKey: String
        var signingRoot: String
        var signingRootKey: String
        var intermediate: String
        var intermediateKey: String
        var leaf: String
        var leafKey: String
        var ocspAddress: String
    }

    var text: Text {
        get throws {
            Text(
                client: client.pemRepresentation, connect: connect.pemRepresentation,
                tlsRoot: try tls.rootPEM,
                tlsRootKey: tls.rootKey.pemRepresentation,
                signingRoot: try authority.root.serializeAsPEM().pemString,
                signingRootKey: authority.rootKey.pemRepresentation,
                intermediate: try authority.intermediate.serializeAsPEM().pemString,
                intermediateKey: authority.intermediateKey.pemRepresentation,
                leaf: PEMDocument(type: "CERTIFICATE", derBytes: chain.certificates[0]).pemString,
                leafKey: chain.leafKey.pemRepresentation, ocspAddress: authority.ocspAddress)
        }
    }

    init(_ text: Text, hosts: [String]) throws {
        let authority = SigningChain.Authority(
            root: try Certificate(pemEncoded: text.signingRoot),
            rootKey: try P384.Signing.PrivateKey(pemRepresentation: text.signingRootKey),
            intermediate: try Certificate(pemEncoded: text.intermediate),
            intermediateKey: try P384.Signing.PrivateKey(pemRepresentation: text.intermediateKey),
            ocspAddress: text.ocspAddress)
        let certificates = try [text.leaf, text.intermediate, text.signingRoot].map {
            try PEMDocument(pemString: $0).derBytes
        }
        self.init(
            client: try P256.Signing.PrivateKey(pemRepresentation: text.client),
            connect: try text.connect.map { try P256.Signing.PrivateKey(pemRepresentation: $0) }
                ?? P256.Signing.PrivateKey(),
            tls: TLSAuthority(
                root: try Certificate(pemEncoded: text.tlsRoot),
                rootKey: try P256.Signing.PrivateKey(pemRepresentation: text.tlsRootKey),
                hosts: hosts),
            authority: authority,
            chain: SigningChain(
                leafKey: try P256.Signing.PrivateKey(pemRepresentation: text.leafKey),
                certificates: certificates))
    }

    var signingRootPEM: String {
        PEMDocument(type: "CERTIFICATE", derBytes: chain.certificates[2]).pemString + "\n"
    }
}
