import AppStoreServerAPI
import Crypto
import JSONWebSignature
import Subscriptions

/// The parts of a `manifest.json` that other files are compared with.
struct ManifestRecord {
    /// The newest format that this version can check.
    static let format: Int64 = 1
    /// Some 20 files, a few apps and roots.
    private static let limitBytes = 1 << 24

    /// SHA-256 of the file.
    let digest: String
    let record: JSONRecord
    let runID: String
    let started: Timestamp
    /// SHA-256 of the manifest of the run before; `nil` for the first.
    let previous: String?
    let ledgerHead: String
    /// The identity of the database that the run is stored in; earlier versions state none.
    let database: String?
    let files: [String: FileSeal]
    /// Entries of the ledger that declare breaks of it.
    let declarations: [JSONRecord]
    let apps: [App]
    /// The trusted roots, with the certificate of each as PEM; Apple's own is not repeated.
    let roots: [(fingerprint: String, certificate: String?)]

    struct App {
        let identity: AppIdentity
        let appAppleID: Int64?

        func isNamed(bundleID: String?, environment: String?) -> Bool {
            identity.bundleID.isSame(as: bundleID)
                && identity.environment.rawValue.isSame(as: environment)
        }
    }

    /// Whether every root is Apple's, so that the run was not a rehearsal.
    var isProduction: Bool {
        !roots.isEmpty
            && roots.allSatisfy { $0.fingerprint == AppleCertificates.rootG3Fingerprint }
    }

    /// Whether it lists a file, plain or packed.
    func lists(_ name: String) -> Bool {
        files[name] != nil || files[name + ContentFile.packedSuffix] != nil
    }

    /// How many lines of findings, corrections and plan it states.
    var auditedLines: Int {
        [FindingCheck.name, CorrectionCheck.name, PlanCheck.name].reduce(0) { lines, name in
            let file = files[name] ?? files[name + ContentFile.packedSuffix]
            return lines.addingReportingOverflow(max(0, file?.lines ?? 0)).partialValue
        }
    }

    var ended: Timestamp? { record.text("ended").flatMap { Timestamp(rfc3339: $0) } }

    /// Whether it is of a comparison with a third party, which has files of its own.
    var isCompare: Bool { record.text("mode") == "compare" }

    /// Whether the run covered only a part of its job.
    var isPartial: Bool { record.states("scope") }

    var breaks: [DeclaredBreak] { declarations.compactMap(DeclaredBreak.init) }

    func app(bundleID: String?, environment: String?) -> App? {
        apps.first { $0.isNamed(bundleID: bundleID, environment: environment) }
    }

    /// Reads a manifest.
    ///
    /// - Throws: With what is wrong with it, as a sentence that follows the file's name.
    init(ofFileAt path: String) throws(UnreadableFile) {
        let bytes = try PlainFile.contents(of: path, limit: Self.limitBytes)
        digest = SHA256.hash(data: bytes).hexadecimal
        guard let record = JSONRecord(bytes) else {
            throw UnreadableFile("it is not a JSON object")
        }
        guard let format = record.integer("format"), format >= 1 else {
            throw UnreadableFile("it states no format")
        }
        guard format <= Self.format else {
            throw UnreadableFile(
                "its format \(format) is of a newer version, which this one cannot check; "
                    + "use that version")
        }
        guard let runID = record.text("run_id"),
            let started = record.text("started").flatMap({ Timestamp(rfc3339: $0) }),
            let ledgerHead = record.text("ledger_head"), ledgerHead.isDigest,
            let previous = record["previous"], previous.isNull || previous.text?.isDigest == true
        else {
            throw UnreadableFile(
                "it lacks its run_id, started, ledger_head or previous, or they have no meaning")
        }
        self.record = record
        self.runID = runID
        self.started = started
        self.ledgerHead = ledgerHead
        self.previous = previous.text
        database = record.text("database")
        declarations = (record["restored"]?.elements ?? []).compactMap { JSONRecord($0) }
        files = try Self.files(of: record)
        apps = try Self.apps(of: record)
        roots = try Self.roots(of: record)
    }

    private static func files(
        of record: JSONRecord
    ) throws(UnreadableFile) -> [String: FileSeal] {
        var files: [String: FileSeal] = [:]
        for entry in record["files"]?.elements ?? [] {
            guard let file = JSONRecord(entry), let name = file.text("name"),
                let sha256 = file.text("sha256"), sha256.isDigest,
                let bytes = file.integer("bytes"), let lines = file.integer("lines"),
                !name.contains("/"), files[name] == nil
            else {
                throw UnreadableFile("an entry of its files has no meaning, or is listed twice")
            }
            files[name] = FileSeal(
                sha256: sha256, bytes: Int(clamping: bytes), lines: Int(clamping: lines),
                contentBytes: file.integer("content_bytes").map { Int(clamping: $0) })
        }
        guard !files.isEmpty else { throw UnreadableFile("it lists no files") }
        return files
    }

    private static func apps(of record: JSONRecord) throws(UnreadableFile) -> [App] {
        var apps: [App] = []
        for entry in record["apps"]?.elements ?? [] {
            guard let app = JSONRecord(entry), let bundleID = app.text("bundle_id"),
                let environment = app.text("environment").flatMap(
                    AppStoreEnvironment.init(rawValue:))
            else { throw UnreadableFile("an entry of its apps has no meaning") }
            apps.append(
                App(
                    identity: AppIdentity(bundleID: bundleID, environment: environment),
                    appAppleID: app.integer("app_apple_id")))
        }
        return apps
    }

    private static func roots(
        of record: JSONRecord
    ) throws(UnreadableFile) -> [(fingerprint: String, certificate: String?)] {
        var roots: [(fingerprint: String, certificate: String?)] = []
        for entry in record["trusted_roots"]?.elements ?? [] {
            guard let root = JSONRecord(entry), let fingerprint = root.text("fingerprint"),
                fingerprint.isDigest
            else { throw UnreadableFile("an entry of its trusted_roots has no meaning") }
            let isApple = fingerprint == AppleCertificates.rootG3Fingerprint
            guard root["is_apple"]?.boolean == isApple else {
                throw UnreadableFile(
                    "it says wrongly whether the root \(fingerprint) is Apple's")
            }
            let certificate = root.text("certificate")
            if let certificate, !holds(certificate, fingerprint) {
                throw UnreadableFile(
                    "the certificate of its root \(fingerprint) has another fingerprint")
            }
            roots.append((fingerprint, certificate))
        }
        return roots
    }

    private static func holds(_ certificate: String, _ fingerprint: String) -> Bool {
        let roots = try? TrustedRoots(
            fingerprints: [], certificateFiles: [Array(certificate.utf8)])
        return roots?.listing.map(\.fingerprint) == [fingerprint]
    }
}
