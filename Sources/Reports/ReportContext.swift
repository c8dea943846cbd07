package import Subscriptions

/// What a report states beside the stored run: the tool's version, the apps and the trusted roots.
package struct ReportContext: Hashable, Sendable {
    package var toolVersion: String
    package var apps: [ReportedApp]
    package var trustedRoots: [TrustedRoot]
    /// Whether the run was not to write to subscription rows: its plan is a proposal.
    package var isPlanOnly: Bool
    /// The identity of the database that the run is stored in; `nil` where it is not known.
    package var database: String?
    /// Entries of the ledger that declare that it was restored; they stand in the manifest.
    package var declarations: [LedgerEntry] = []
    /// How long the settings keep what earlier runs listed; `nil` where it is not known.
    package var retentionMilliseconds: Int64?
    /// SHA-256 of the report's manifest, kept with the stored run once the report is published: what
    /// the next report rests on, also where the folder is gone by then.
    package var manifest: String?
    /// The report folder as the person writes it, for the path in `summary.txt`.
    ///
    /// `nil` for the folder's own path. A stored run that is rendered again elsewhere states here
    /// where it was rendered first, which keeps the bytes the same.
    package var shownDirectory: String?

    package init(
        toolVersion: String, apps: [ReportedApp], trustedRoots: [TrustedRoot], isPlanOnly: Bool,
        database: String? = nil, shownDirectory: String? = nil
    ) {
        self.toolVersion = toolVersion
        self.apps = apps
        self.trustedRoots = trustedRoots
        self.isPlanOnly = isPlanOnly
        self.database = database
        self.shownDirectory = shownDirectory
    }
}

/// An app as the manifest names it: with what its signed payloads are checked against.
package struct ReportedApp: Hashable, Sendable {
    package var identity: AppIdentity
    /// Apple's number of the app; `nil` in the sandbox, where payloads need not carry it.
    package var appAppleID: Int64?

    package init(identity: AppIdentity, appAppleID: Int64?) {
        self.identity = identity
        self.appAppleID = appAppleID
    }
}

/// A root certificate that signed payloads had to lead to.
package struct TrustedRoot: Hashable, Sendable {
    /// SHA-256 of the certificate's DER form, in lowercase hexadecimal.
    package var fingerprint: String
    package var isApple: Bool
    /// The certificate itself, unless it is Apple's: a verifier needs nothing but the folder.
    package var certificatePEM: String?

    package init(fingerprint: String, isApple: Bool, certificatePEM: String?) {
        self.fingerprint = fingerprint
        self.isApple = isApple
        self.certificatePEM = certificatePEM
    }
}
