import Crypto
import FoundationEssentials
import Subscriptions
import SwiftASN1
import X509

/// A temporary chain with the structure of Apple's: root (P-384), intermediate (P-384) and leaf (P-256),
/// the last two with Apple's marker extensions.
///
/// Source: Apple's signing certificates; sizes are within a few percent of the real ones.
struct SigningChain: Sendable {
    static let intermediateMarker: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 2, 1]
    static let leafMarker: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 11, 1]

    let leafKey: P256.Signing.PrivateKey
    /// DER in the order of `x5c`: leaf, intermediate, root.
    let certificates: [[UInt8]]

    /// How a chain differs from a valid one.
    struct Flaws: Sendable {
        var leafHasMarker = true
        var intermediateHasMarker = true
        var leafIsExpired = false
        var leafIsNotYetValid = false
        var intermediateIsExpired = false
        var intermediateIsAuthority = true
    }

    /// The same key with other certificates.
    func with(certificates: [[UInt8]]) -> SigningChain {
        SigningChain(leafKey: leafKey, certificates: certificates)
    }

    /// `around`: the certificates are valid for years before and after this moment.
    static func make(around moment: Timestamp, flaws: Flaws = Flaws()) throws -> SigningChain {
        let authority = try Authority.make(around: moment, flaws: flaws)
        return try authority.issue(around: moment, flaws: flaws)
    }

    /// Root and intermediate, which issue leaves.
    struct Authority: Sendable {
        let root: Certificate
        let rootKey: P384.Signing.PrivateKey
        let intermediate: Certificate
        let intermediateKey: P384.Signing.PrivateKey
        /// How long a leaf lasts unless stated, and how much of it has passed at the start.
        static let leafDays: Int64 = 1700
        static let leafDaysBefore: Int64 = 600

        /// The address of the OCSP responder in the certificates.
        let ocspAddress: String
        /// The number of the intermediate; the present one of Apple's is G6.
        var generation: Int64 = 6

        /// Creates a root and an intermediate, which lasts many years unless `intermediateDays` says
        /// otherwise.
        ///
        /// `ocspAddress`: by default an address where nothing listens.
        static func make(
            around moment: Timestamp, flaws: Flaws = Flaws(), intermediateDays: Int64? = nil,
            ocspAddress: String = "http://127.0.0.1"
        ) throws -> Authority {
            let rootKey = P384.Signing.PrivateKey()
            let template = CertificateTemplate(
                commonName: "Simulated Root", organizationalUnit: "Simulated Authority",
                organization: "Simulated Inc.", role: .root, marker: nil, responder: nil,
                notBefore: date(moment, days: -4600), notAfter: date(moment, days: 4600))
            let root = try template.certificate(
                for: .init(rootKey.publicKey), issuerName: template.name(),
                issuerKey: .init(rootKey),
                algorithm: .ecdsaWithSHA384)
            let issuer = IntermediateIssuer(root: root, key: rootKey, ocspAddress: ocspAddress)
            guard let intermediateDays else {
                return try issuer.issue(around: moment, flaws: flaws)
            }
            let begin = firstBegins(before: moment, days: intermediateDays)
            return try issuer.issue(
                P384.Signing.PrivateKey(), flaws: flaws, notBefore: date(begin, days: 0),
                notAfter: date(begin, days: Double(intermediateDays)))
        }

        /// The same root with another intermediate.
        func withOtherIntermediate(around moment: Timestamp, flaws: Flaws) throws -> Authority {
            try issuer.issue(around: moment, flaws: flaws)
        }

        /// The same root with the intermediate that follows this one after so many others, or preceded it.
        ///
        /// Its key is derived, so that a restart needs to keep the first one only.
        func successor(_ number: Int64, from: Timestamp, to: Timestamp) throws -> Authority {
            let code = HMAC<SHA384>.authenticationCode(
                for: Data("intermediate \(number)".utf8),
                using: SymmetricKey(data: intermediateKey.rawRepresentation))
            return try issuer.issue(
                P384.Signing.PrivateKey(rawRepresentation: Data(code)),
                generation: generation + number, flaws: Flaws(), notBefore: date(from, days: 0),
                notAfter: date(to, days: 0))
        }

        private var issuer: IntermediateIssuer {
            IntermediateIssuer(root: root, key: rootKey, ocspAddress: ocspAddress)
        }

        /// Issues a leaf, valid for several years unless `flaws` says otherwise.
        func issue(around moment: Timestamp, flaws: Flaws = Flaws()) throws -> SigningChain {
            let leafKey = P256.Signing.PrivateKey()
            let leaf = try leafTemplate(around: moment, flaws: flaws).certificate(
                for: .init(leafKey.publicKey), issuerName: intermediate.subject,
                issuerKey: .init(intermediateKey), algorithm: .ecdsaWithSHA384)
            return try chain(leaf, key: leafKey)
        }

        /// Issues a valid leaf for a key.
        func issue(
            key: P256.Signing.PrivateKey, from: Timestamp, to: Timestamp
        ) throws -> SigningChain {
            let leaf = try leafTemplate(
                flaws: Flaws(), notBefore: date(from, days: 0), notAfter: date(to, days: 0)
            ).certificate(
                for: .init(key.publicKey), issuerName: intermediate.subject,
                issuerKey: .init(intermediateKey), algorithm: .ecdsaWithSHA384)
            return try chain(leaf, key: key)
        }

        /// When the first leaf or intermediate begins: the same share of every life has passed at the
        /// start.
        static func firstBegins(before start: Timestamp, days: Int64) -> Timestamp {
            start.adding(
                milliseconds: -days * CivilCalendar.millisecondsPerDay * leafDaysBefore / leafDays)
        }

        /// Issues the leaf that signs at the start; `days`: how long it lasts.
        func issueFirst(around start: Timestamp, days: Int64) throws -> SigningChain {
            let begin = Self.firstBegins(before: start, days: days)
            return try issue(
                key: P256.Signing.PrivateKey(), from: begin,
                to: begin.adding(milliseconds: days * CivilCalendar.millisecondsPerDay))
        }

        /// Issues a leaf that the root has signed.
        func issueUnderRoot(around moment: Timestamp) throws -> SigningChain {
            let leafKey = P256.Signing.PrivateKey()
            let leaf = try leafTemplate(around: moment, flaws: Flaws()).certificate(
                for: .init(leafKey.publicKey), issuerName: root.subject,
                issuerKey: .init(rootKey), algorithm: .ecdsaWithSHA384)
            return try chain(leaf, key: leafKey)
        }

        private func leafTemplate(around moment: Timestamp, flaws: Flaws) -> CertificateTemplate {
            let days: (from: Double, to: Double) =
                if flaws.leafIsExpired {
                    (-1400, -700)
                } else if flaws.leafIsNotYetValid {
                    (600, 1300)
                } else {
                    (-Double(Self.leafDaysBefore), Double(Self.leafDays - Self.leafDaysBefore))
                }
            return leafTemplate(
                flaws: flaws, notBefore: date(moment, days: days.from),
                notAfter: date(moment, days: days.to))
        }

        private func leafTemplate(
            flaws: Flaws, notBefore: Date, notAfter: Date
        ) -> CertificateTemplate {
            CertificateTemplate(
                commonName: "Simulated Prod ECC Mac App Store and iTunes Store Receipt Signing",
                organizationalUnit: "Simulated Worldwide Developer Relations",
                organization: "Simulated Inc.", role: .signer,
                marker: flaws.leafHasMarker ? leafMarker : nil,
                responder: ocspAddress + "/ocsp03-simulatedwwdrg\(generation)02",
                notBefore: notBefore, notAfter: notAfter)
        }

        private func chain(
            _ leaf: Certificate, key: P256.Signing.PrivateKey
        ) throws -> SigningChain {
            SigningChain(
                leafKey: key,
                certificates: try [leaf, intermediate, root].map { certificate in
                    var coder = DER.Serializer()
                    try coder.serialize(certificate)
                    return coder.serializedBytes
                })
        }
    }

    /// A chain of three copies of one self-signed certificate.
    static func selfSigned(around moment: Timestamp) throws -> SigningChain {
        let key = P256.Signing.PrivateKey()
        let template = CertificateTemplate(
            commonName: "Simulated Prod ECC Mac App Store and iTunes Store Receipt Signing",
            organizationalUnit: "Simulated Worldwide Developer Relations",
            organization: "Simulated Inc.", role: .signer, marker: leafMarker, responder: nil,
            notBefore: date(moment, days: -600), notAfter: date(moment, days: 1100))
        let certificate = try template.certificate(
            for: .init(key.publicKey), issuerName: template.name(), issuerKey: .init(key),
            algorithm: .ecdsaWithSHA256)
        var coder = DER.Serializer()
        try coder.serialize(certificate)
        return SigningChain(
            leafKey: key, certificates: Array(repeating: coder.serializedBytes, count: 3))
    }

    private static func date(_ moment: Timestamp, days: Double) -> Date {
        Date(timeIntervalSince1970: Double(moment.unixMilliseconds / 1000) + days * 86_400)
    }

    /// Issues intermediates under one root.
    private struct IntermediateIssuer {
        let root: Certificate
        let key: P384.Signing.PrivateKey
        let ocspAddress: String

        /// Issues an intermediate for many years, unless `flaws` says otherwise.
        func issue(around moment: Timestamp, flaws: Flaws) throws -> Authority {
            try issue(
                P384.Signing.PrivateKey(), flaws: flaws, notBefore: date(moment, days: -2100),
                notAfter: date(moment, days: flaws.intermediateIsExpired ? -650 : 3400))
        }

        func issue(
            _ subject: P384.Signing.PrivateKey, generation: Int64 = 6, flaws: Flaws,
            notBefore: Date, notAfter: Date
        ) throws -> Authority {
            let template = CertificateTemplate(
                commonName: "Simulated Worldwide Developer Relations Certification Authority",
                organizationalUnit: "G\(generation)", organization: "Simulated Inc.",
                role: flaws.intermediateIsAuthority ? .intermediate : .signer,
                marker: flaws.intermediateHasMarker ? intermediateMarker : nil,
                responder: ocspAddress + "/ocsp03-simulatedrootcag3",
                notBefore: notBefore, notAfter: notAfter)
            let intermediate = try template.certificate(
                for: .init(subject.publicKey), issuerName: root.subject, issuerKey: .init(key),
                algorithm: .ecdsaWithSHA384)
            return Authority(
                root: root, rootKey: key, intermediate: intermediate, intermediateKey: subject,
                ocspAddress: ocspAddress, generation: generation)
        }
    }
}
