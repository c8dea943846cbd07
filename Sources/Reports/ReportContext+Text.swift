import FoundationEssentials
import Subscriptions

/// What is kept with the stored run, so that the report can be rendered again under other settings.
extension ReportContext {
    /// The context as text, with the report folder in which the report is written first.
    ///
    /// - Parameter directory: The report folder, where the context names none.
    /// - Returns: JSON with sorted keys.
    /// - Throws: Nothing that data can cause.
    package func text(ofReportsIn directory: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let content = Content(
            toolVersion: toolVersion, isPlanOnly: isPlanOnly, database: database,
            directory: shownDirectory ?? directory, manifest: manifest,
            apps: apps.map {
                .init(
                    bundleID: $0.identity.bundleID, environment: $0.identity.environment.rawValue,
                    appAppleID: $0.appAppleID)
            },
            roots: trustedRoots.map {
                .init(
                    fingerprint: $0.fingerprint, isApple: $0.isApple,
                    certificate: $0.certificatePEM)
            })
        return String(decoding: try encoder.encode(content), as: UTF8.self)
    }

    /// Reads what `text(ofReportsIn:)` wrote.
    package init(text: String) throws {
        let content = try JSONDecoder().decode(Content.self, from: Data(text.utf8))
        self.init(
            toolVersion: content.toolVersion,
            apps: content.apps.compactMap { app in
                AppStoreEnvironment(rawValue: app.environment).map {
                    ReportedApp(
                        identity: AppIdentity(bundleID: app.bundleID, environment: $0),
                        appAppleID: app.appAppleID)
                }
            },
            trustedRoots: content.roots.map {
                TrustedRoot(
                    fingerprint: $0.fingerprint, isApple: $0.isApple,
                    certificatePEM: $0.certificate)
            },
            isPlanOnly: content.isPlanOnly, database: content.database,
            shownDirectory: content.directory)
        manifest = content.manifest
    }

    private struct Content: Codable {
        var toolVersion: String
        var isPlanOnly: Bool
        var database: String?
        var directory: String
        /// Left out until the report is published, and by earlier versions.
        var manifest: String?
        var apps: [App]
        var roots: [Root]

        struct App: Codable {
            var bundleID: String
            var environment: String
            var appAppleID: Int64?
        }

        struct Root: Codable {
            var fingerprint: String
            var isApple: Bool
            var certificate: String?
        }
    }
}
