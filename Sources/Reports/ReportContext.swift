import FoundationEssentials
package import Subscriptions

/// Facts that a report states besides the stored run: the tool's version, the apps and the trusted
/// roots.
package struct ReportContext: Hashable, Sendable, Codable {
    package var toolVersion: String
    package var apps: [ReportedApp]
    package var trustedRoots: [TrustedRoot]
    /// Whether the run was not to write to subscription rows: its plan is a proposal.
    package var isPlanOnly: Bool
    /// The identity of the database that the run is stored in; `nil` where it is not known.
    package var database: String?
    /// Entries of the ledger that declare that it was restored; they are in the manifest.
    package var declarations: [LedgerEntry] = []
    /// How long the settings keep what earlier runs listed; `nil` where it is not known.
    package var retentionMilliseconds: Int64?
    /// SHA-256 of the report's manifest, kept with the stored run once the report is published:
    /// what the next report rests on, also where the folder is gone by then.
    package var manifest: String?
    /// The report folder as the person writes it, for the path in `summary.txt`.
    ///
    /// `nil` for the folder's own path. A stored run that is rendered again elsewhere states here
    /// where it was rendered first, which keeps the bytes the same.
    package var shownDirectory: String?

    /// The form that is stored with the run, so that the report can be rendered again under other
    /// settings.
    private enum CodingKeys: String, CodingKey {
        case toolVersion, apps, isPlanOnly, database, manifest
        case trustedRoots = "roots"
        case shownDirectory = "directory"
    }

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
package struct ReportedApp: Hashable, Sendable, Codable {
    package var bundleID: String
    package var environment: String
    /// Apple's number of the app; `nil` in the sandbox, where payloads need not carry it.
    package var appAppleID: Int64?

    package init(identity: AppIdentity, appAppleID: Int64?) {
        bundleID = identity.bundleID
        environment = identity.environment.rawValue
        self.appAppleID = appAppleID
    }
}

/// A root certificate that signed payloads had to lead to.
package struct TrustedRoot: Hashable, Sendable, Codable {
    /// SHA-256 of the certificate's DER form, in lowercase hexadecimal.
    package var fingerprint: String
    package var isApple: Bool
    /// The certificate itself, unless it is Apple's: a verifier needs nothing but the folder.
    package var certificatePEM: String?

    private enum CodingKeys: String, CodingKey {
        case fingerprint, isApple
        case certificatePEM = "certificate"
    }

    package init(fingerprint: String, isApple: Bool, certificatePEM: String?) {
        self.fingerprint = fingerprint
        self.isApple = isApple
        self.certificatePEM = certificatePEM
    }
}

extension ReportContext {
    /// The context as text, with the report folder in which the report is written first.
    ///
    /// - Parameter directory: The report folder, where the context names none.
    /// - Returns: JSON with sorted keys.
    /// - Throws: Nothing that data can cause.
    package func text(ofReportsIn directory: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        var context = self
        context.shownDirectory = shownDirectory ?? directory
        return String(decoding: try encoder.encode(context), as: UTF8.self)
    }

    /// Reads what `text(ofReportsIn:)` wrote.
    package init(text: String) throws {
        self = try JSONDecoder().decode(ReportContext.self, from: Data(text.utf8))
    }
}

extension Sequence<TrustedRoot> {
    /// The warning that a report carries where another root than Apple's was trusted.
    package var notice: String? {
        let others = filter { !$0.isApple }.map(\.fingerprint)
        guard !others.isEmpty else { return nil }
        return "rehearsal: trusts \(others.joined(separator: ", ")), not Apple's root"
    }
}

extension ReportContext {
    /// Returns the notice that a reader must see before relying on a run, in one line.
    func notice(for header: RunHeader) -> String? {
        let words = header.filters + [trustedRoots.notice].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: "; ")
    }
}

extension ReportSource {
    /// The notice that a reader must see before relying on the run, in one line; `nil` for a whole
    /// job under Apple's root.
    ///
    /// Every file of the report states it: as `notice` in heads and lines, as a last column in CSV.
    /// The lines of `corrections.jsonl` are hashed ledger entries; there it is in `actor`.
    var notice: String? { context.notice(for: summary.header) }

    /// The notice as a member of a JSON head; empty where there is none.
    var noticeMember: [String: CanonicalJSON] {
        notice.map { ["notice": .string($0)] } ?? [:]
    }
}

/// The errors of a report; the text says what happened and what to do next.
package enum ReportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The folder cannot be made (exit 73); found before the first call to Apple.
    case cannotCreate(String)
    /// A file could not be written to its end: full disk, I/O error (exit 74).
    ///
    /// Nothing is under a final name then, apart from what was complete before.
    case notWritten(String)
    /// The stored run could not be read, or contradicts the folder (exit 70).
    case record(String)

    /// The report folder is another database's (exit 78).
    case otherDatabase(String)
    /// Another run writes into the report folder (exit 75).
    case busy(String)

    package var description: String {
        switch self {
        case .cannotCreate(let text), .notWritten(let text), .record(let text),
            .otherDatabase(let text), .busy(let text):
            text
        }
    }
}
