import AppStoreServerAPI
import Crypto
import JSONWebSignature
import Subscriptions

/// The contents of a verified payload.
enum EvidenceStatement {
    case transaction(SignedTransaction)
    case renewal(SignedRenewal)
    case notification(RecordedNotification)
    /// Genuine, but made for another app or environment than the one asked about.
    case foreign(NamedSubscription)
    /// Erased on purpose, so that nothing is left to verify.
    case erased
}

/// The app, environment and subscription that a genuine payload names.
struct NamedSubscription {
    /// `nil` for a renewal info, which names none.
    var bundleID: String?
    var environment: String?
    var originalTransactionID: String?
    var signedDate: Timestamp?
}

extension NamedSubscription {
    /// Reads the payload of a transaction or renewal info; others name nothing here.
    init(_ payload: JSONRecord?) {
        bundleID = payload?.text("bundleId")
        environment = payload?.text("environment")
        originalTransactionID = payload?.text("originalTransactionId")
        signedDate = payload?.integer("signedDate").map(Timestamp.init(unixMilliseconds:))
    }
}

/// Verifies the signed payloads of one run again, at their own dates.
///
/// A chain whose root only the manifest names is verified with that root, so that everything else
/// can be checked, and the root is reported.
final class EvidenceVerifier {
    private let trust: AuditTrust
    private let manifest: ManifestRecord
    private let rehearsalVerifier: JWSVerifier?
    /// Header segments with the dot behind them, and the fingerprint of their third certificate:
    /// nearly all payloads share one.
    private var headers: [(opening: [UInt8], root: String)] = []

    /// The trusted roots of the verified payloads.
    private(set) var roots: Set<EvidenceRoot> = []
    /// Roots of verified payloads that only the manifest names.
    private(set) var rehearsalRoots: Set<String> = []

    private static let keptHeaders = 32

    init(trust: AuditTrust, manifest: ManifestRecord) {
        self.trust = trust
        self.manifest = manifest
        let unknown = manifest.roots.filter { !trust.names($0.fingerprint) }
        let roots = try? TrustedRoots(
            fingerprints: unknown.map(\.fingerprint),
            certificateFiles: unknown.compactMap { $0.certificate.map { Array($0.utf8) } })
        rehearsalVerifier = roots.flatMap { roots in
            unknown.isEmpty ? nil : try? AuditTrust.verifier(for: roots)
        }
    }

    /// Verifies a payload for an app of the manifest.
    ///
    /// - Throws: Why it is not valid, in words.
    func statement(
        of jws: [UInt8], for app: ManifestRecord.App
    ) async throws(UnreadableFile) -> EvidenceStatement {
        let root = rootFingerprint(of: jws)
        let isRehearsal = root.map { root in
            !trust.names(root) && manifest.roots.contains { $0.fingerprint == root }
        }
        let trusted = trust.verifier(forRoot: root)
        let verifier = isRehearsal == true ? rehearsalVerifier ?? trusted : trusted
        let signed = SignedDataVerifier(
            app: app.identity, appAppleID: app.appAppleID, verifier: verifier)
        let statement: EvidenceStatement
        do throws(VerificationFailure) {
            statement = try await verify(jws, signed)
        } catch {
            // These reasons come after signature and chain, so the payload is genuine.
            guard error.reason == .app || error.reason == .environment else {
                throw UnreadableFile(
                    error.reason == .chain
                        ? "\(error.detail) (root \(root ?? "unknown"))" : error.detail)
            }
            statement = .foreign(NamedSubscription(Self.payload(of: jws)))
        }
        if let root {
            if isRehearsal == true {
                rehearsalRoots.insert(root)
            } else {
                roots.insert(
                    EvidenceRoot(
                        fingerprint: root, isApple: root == AppleCertificates.rootG3Fingerprint))
            }
        }
        return statement
    }

    private func verify(
        _ jws: [UInt8], _ signed: SignedDataVerifier
    ) async throws(VerificationFailure) -> EvidenceStatement {
        switch Self.form(of: jws) {
        case .transaction: .transaction(try await signed.signedTransaction(jws[...]))
        case .renewal: .renewal(try await signed.signedRenewal(jws[...]))
        case .notification:
            .notification(try await signed.recordedNotification(jws[...], sendAttempts: []))
        }
    }

    private enum Form {
        case transaction, renewal, notification
    }

    /// The kind of payload; nothing else is read from a payload before its signature is verified.
    private static func form(of jws: [UInt8]) -> Form {
        guard let payload = payload(of: jws) else { return .transaction }
        if payload["notificationUUID"] != nil { return .notification }
        return payload["transactionId"] == nil ? .renewal : .transaction
    }

    /// The members of a payload, whether its signature holds or not.
    static func payload(of jws: [UInt8]) -> JSONRecord? {
        let dot = UInt8(ascii: ".")
        guard let first = jws.firstIndex(of: dot), let last = jws.lastIndex(of: dot), first < last
        else { return nil }
        return Base64.decodeURL(jws[(first + 1)..<last]).flatMap { JSONRecord($0) }
    }

    /// The fingerprint of the root that the payload contains.
    private func rootFingerprint(of jws: [UInt8]) -> String? {
        let known = headers.first { jws.prefix($0.opening.count).hasSameBytes(as: $0.opening[...]) }
        if let known { return known.root }
        guard let point = jws.firstIndex(of: UInt8(ascii: ".")),
            let bytes = Base64.decodeURL(jws[..<point]), let object = JSONRecord(bytes),
            let entries = object["x5c"]?.elements, let last = entries.last?.textBytes,
            let certificate = Base64.decodeStandard(last)
        else { return nil }
        let fingerprint = SHA256.hash(data: certificate).hexadecimal
        if headers.count >= Self.keptHeaders { headers.removeAll() }
        headers.append((Array(jws[...point]), fingerprint))
        return fingerprint
    }
}
