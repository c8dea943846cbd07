import AppStoreServerAPI
import JSONWebSignature
import Reports
import Subscriptions

/// The trusted roots of one app, as a report states them.
///
/// It needs no key: a run that only applies a plan has none.
struct AppTrust {
    let reportedApp: ReportedApp
    let reportedRoots: [TrustedRoot]

    /// - Throws: 78 for a root that cannot be used.
    init(_ app: AppSettings) throws {
        reportedApp = ReportedApp(identity: app.identity, appAppleID: app.appAppleID)
        reportedRoots = try Self.roots(of: app).listing.map { root in
            let isApple = root.fingerprint == AppleCertificates.rootG3Fingerprint
            return TrustedRoot(
                fingerprint: root.fingerprint, isApple: isApple,
                certificatePEM: isApple ? nil : root.certificate.map(Self.pem))
        }
    }

    static func roots(of app: AppSettings) throws -> TrustedRoots {
        var fingerprints: [String] = []
        var files: [[UInt8]] = []
        for root in app.trustedRoots {
            switch root {
            case .apple: fingerprints.append(AppleCertificates.rootG3Fingerprint)
            case .file(let path):
                files.append(try SettingsFile.bytes(ofFileAt: path, key: "trusted_roots"))
            }
        }
        do throws(JSONWebSignatureError) {
            return try TrustedRoots(fingerprints: fingerprints, certificateFiles: files)
        } catch {
            throw CommandFailure(.config, "trusted_roots of \(app.identity.bundleID): \(error)")
        }
    }

    private static func pem(_ der: [UInt8]) -> String {
        let text = Base64.encodeStandard(der)
        let lines = stride(from: 0, to: text.utf8.count, by: 64).map { start in
            text.utf8.dropFirst(start).prefix(64).map { Character(Unicode.Scalar($0)) }
        }
        return "-----BEGIN CERTIFICATE-----\n" + lines.map { String($0) + "\n" }.joined()
            + "-----END CERTIFICATE-----\n"
    }
}
