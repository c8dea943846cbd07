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

    /// The app, environment, subscription and date that the payload names; `nil` where it was erased.
    var named: NamedSubscription? {
        switch self {
        case .transaction(let signed):
            NamedSubscription(
                bundleID: signed.bundleID, environment: signed.environment,
                originalTransactionID: signed.originalTransactionID, signedDate: signed.signedDate)
        case .renewal(let signed):
            NamedSubscription(
                environment: signed.environment,
                originalTransactionID: signed.originalTransactionID, signedDate: signed.signedDate)
        case .notification(let signed):
            NamedSubscription(
                originalTransactionID: signed.originalTransactionID, signedDate: signed.signedDate)
        case .foreign(let named): named
        case .erased: nil
        }
    }

    /// The statement without the text of its payload, which is nearly all that it takes of memory.
    fileprivate var withoutText: Self {
        func withoutText(_ payload: SignedPayload) -> SignedPayload {
            SignedPayload(digest: payload.digest, received: [])
        }
        switch self {
        case .transaction(var signed):
            signed.evidence = withoutText(signed.evidence)
            return .transaction(signed)
        case .renewal(var signed):
            signed.evidence = withoutText(signed.evidence)
            return .renewal(signed)
        case .notification(var recorded):
            recorded.evidence = withoutText(recorded.evidence)
            return .notification(recorded)
        case .foreign, .erased: return self
        }
    }
}

/// The app, environment and subscription that a genuine payload names.
struct NamedSubscription {
    /// `nil` for a renewal info, which names none; of a notification it is not read.
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
    private(set) var roots: Set<String> = []
    /// Roots of verified payloads that only the manifest names.
    private(set) var rehearsalRoots: Set<String> = []

    private static let keptHeaders = 32

    init(of run: RunFolder) {
        let trust = run.trust
        self.trust = trust
        manifest = run.manifest
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
                roots.insert(root)
            }
        }
        return statement
    }

    private func verify(
        _ jws: [UInt8], _ signed: SignedDataVerifier
    ) async throws(VerificationFailure) -> EvidenceStatement {
        // Nothing but its kind is read from a payload before its signature is verified.
        let payload = Self.payload(of: jws)
        if payload?["notificationUUID"] != nil {
            return .notification(
                try await signed.recordedNotification(jws[...], sendAttempts: []))
        }
        if let payload, payload["transactionId"] == nil {
            return .renewal(try await signed.signedRenewal(jws[...]))
        }
        return .transaction(try await signed.signedTransaction(jws[...]))
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

/// `evidence.jsonl` of one run: checked line by line, then looked up by digest.
///
/// Memory does not depend on the number of payloads: the lines are sorted by digest, so a line is
/// found by binary search in the file.
final class EvidenceFile {
    static let name = "evidence.jsonl"
    /// More than the lines that are read ahead name.
    private static let keptStatements = 1 << 15

    let run: RunFolder
    let lines: EvidenceLines
    let verifier: EvidenceVerifier
    private var statements: [String: EvidenceStatement] = [:]

    init(of run: RunFolder, guide: DigestGuide?) throws(UnreadableFile) {
        self.run = run
        lines = try EvidenceLines(folder: run.path, guide: guide)
        verifier = EvidenceVerifier(of: run)
    }

    /// Checks that each line is a payload with its digest, or a tombstone, in order; reports
    /// problems.
    ///
    /// - Returns: The number of tombstones, how many of them are dated after the run had ended, and
    ///   where lines are; `nil` where they are not in order.
    static func check(
        folder: String, endOfRun: Timestamp?, _ report: (_ line: Int, _ text: String) -> Void
    ) throws(UnreadableFile) -> (tombstones: Int, datedLater: Int, guide: DigestGuide?) {
        let file = try LineFile(folder + "/" + name)
        var previous = ""
        var tombstones = 0
        var datedLater = 0
        var guide: DigestGuide? = DigestGuide()
        while let line = try file.next() {
            guard let record = JSONRecord(line), let digest = record.text("sha256"),
                digest.isDigest, record.isCanonical,
                EvidenceLines.key(of: line)?.isSame(as: digest) == true,
                record["jws"]?.textBytes != nil || EvidenceLines.erasure(of: record) != nil
            else {
                report(file.lineNumber, "it is not a payload with its digest")
                guide = nil
                continue
            }
            if let erased = EvidenceLines.erasure(of: record) {
                tombstones += 1
                if let endOfRun, erased > endOfRun { datedLater += 1 }
            }
            if let jws = record["jws"]?.textBytes,
                !SHA256.hash(data: jws).hexadecimal.isSame(as: digest)
            {
                report(file.lineNumber, "the payload does not have the digest \(digest)")
            }
            if digest <= previous {
                report(file.lineNumber, "the digest \(digest) is not in order, or is listed twice")
                guide = nil
            }
            previous = digest
            guide?.note(digest, start: file.lineStart)
        }
        return (tombstones, datedLater, guide)
    }

    /// The verified statement with a digest, or that it was erased.
    ///
    /// - Throws: When the payload is missing or not valid.
    func statement(
        of digest: String, for app: ManifestRecord.App
    ) async throws(UnreadableFile) -> EvidenceStatement {
        let name = "\(digest) \(app.identity.environment.rawValue) \(app.identity.bundleID)"
        if let known = statements[name] { return known }
        guard let jws = try lines.payload(digest) else {
            if try lines.erasure(of: digest) != nil { return .erased }
            throw UnreadableFile("the evidence \(digest) is not in \(Self.name)")
        }
        let statement: EvidenceStatement
        do throws(UnreadableFile) {
            statement = try await verifier.statement(of: jws, for: app).withoutText
        } catch {
            throw UnreadableFile("the evidence \(digest) is not valid: \(error.reason)")
        }
        if statements.count >= Self.keptStatements { statements.removeAll() }
        statements[name] = statement
        return statement
    }

    /// Verifies payloads in the order of the file, and keeps their statements in place of others.
    fileprivate func load(_ payloads: [(digest: String, app: ManifestRecord.App)]) async {
        statements.removeAll(keepingCapacity: true)
        for (digest, app) in payloads.sorted(by: { $0.digest < $1.digest }) {
            // The check of the line that names it says what is wrong with it.
            _ = try? await statement(of: digest, for: app)
        }
    }
}

/// Loads the evidence of many lines of a list at once, before they are checked.
///
/// Lines name payloads by digest. Looked up in the order of the lines, each payload would have a part
/// of the packed file unpacked for itself.
final class EvidenceAhead {
    private static let linesAtOnce = 1 << 13

    private let evidence: EvidenceFile
    /// The list, read a second time; `nil` where it cannot be read on, which its check reports.
    private var list: LineFile?

    /// - Parameters:
    ///   - list: The file of the list.
    ///   - evidence: The evidence of the same run.
    init(of list: String, evidence: EvidenceFile) {
        self.evidence = evidence
        self.list = try? LineFile(evidence.run.file(list))
    }

    /// Loads the evidence of a line and of those that follow it, unless it is loaded, and tells that
    /// the check is there.
    ///
    /// - Parameter line: The number of the line, from 1; none before the one of the last call.
    func reach(line: Int) async {
        evidence.run.progress.reachLine()
        guard let list, line > list.lineNumber else { return }
        var payloads: [(String, ManifestRecord.App)] = []
        for _ in 0..<Self.linesAtOnce {
            guard let text = try? list.next() else {
                self.list = nil
                break
            }
            // An item of a plan has a comma behind it.
            let isListed = text.last == UInt8(ascii: ",")
            guard let record = JSONRecord(isListed ? Array(text.dropLast()) : text),
                let app = evidence.run.apps.app(of: record)
            else { continue }
            for name in ["evidence", "evidence_renewal"] {
                guard let digest = record.text(name), digest.isDigest else { continue }
                payloads.append((digest, app))
            }
        }
        await evidence.load(payloads)
    }
}

/// The lines of `evidence.jsonl` of one run, looked up by digest; signatures are not looked at.
///
/// The lines are sorted by digest, so a line is found by binary search in the file.
struct EvidenceLines {
    /// The text around the digest at the end of a line.
    private static let tail = (open: "\"sha256\":\"", close: "\"}")

    private let lines: SortedLines
    private let guide: DigestGuide?

    init(folder: String, guide: DigestGuide? = nil) throws(UnreadableFile) {
        lines = try SortedLines(folder + "/" + EvidenceFile.name)
        self.guide = guide
    }

    /// When a payload was erased; `nil` when it was not, or was never there.
    func erasure(of digest: String) throws(UnreadableFile) -> Timestamp? {
        try record(of: digest).flatMap(Self.erasure)
    }

    /// The payload of a digest as received; `nil` when it is not there.
    func payload(_ digest: String) throws(UnreadableFile) -> [UInt8]? {
        guard let jws = try record(of: digest)?["jws"]?.textBytes,
            SHA256.hash(data: jws).hexadecimal.isSame(as: digest)
        else { return nil }
        return Array(jws)
    }

    /// The line of a digest; `nil` when it is not there.
    private func record(of digest: String) throws(UnreadableFile) -> JSONRecord? {
        let part = guide?.part(for: digest, ofBytes: lines.bytes)
        return try lines.line(with: digest, in: part, keyOf: Self.key).flatMap { JSONRecord($0) }
    }

    /// When the payload of a tombstone was erased; `nil` for other lines.
    static func erasure(of record: JSONRecord) -> Timestamp? {
        guard record["jws"] == nil else { return nil }
        return record.text("erased_at").flatMap { Timestamp(rfc3339: $0) }
    }

    /// The digest at the end of a line, without reading all of it as JSON.
    static func key(of line: [UInt8]) -> String? {
        let open = Array(tail.open.utf8)
        let close = Array(tail.close.utf8)
        let text = line.suffix(open.count + 64 + close.count)
        guard text.starts(with: open), text.suffix(close.count).elementsEqual(close) else {
            return nil
        }
        return String(decoding: text.dropFirst(open.count).dropLast(close.count), as: UTF8.self)
    }
}

/// The positions of some lines in a file that is sorted by digest, so that a search for any line
/// reads only a few.
///
/// A million lines are searched in twenty steps, each of which reads the file; with the guide it is
/// one or two. It takes at most a mebibyte: of a longer file it keeps fewer lines.
struct DigestGuide: Sendable {
    private static let keptLines = 1 << 16

    /// The first eight bytes of each digest, and where its line begins.
    private var lines: [(key: UInt64, start: Int)] = []
    /// Of so many lines one is kept.
    private var interval = 1
    private var seen = 0

    /// Notes the next line.
    mutating func note(_ digest: String, start: Int) {
        defer { seen += 1 }
        guard seen % interval == 0 else { return }
        if lines.count == Self.keptLines {
            lines = lines.indices.filter { $0 % 2 == 0 }.map { lines[$0] }
            interval *= 2
            guard seen % interval == 0 else { return }
        }
        lines.append((Self.key(of: digest), start))
    }

    /// The part of the file where the line of a digest begins, if there is one.
    func part(for digest: String, ofBytes bytes: Int) -> Range<Int> {
        let key = Self.key(of: digest)
        // Others may begin with the same bytes, so the line may be behind one that does.
        let first = firstIndex { $0 >= key }
        let next = firstIndex { $0 > key }
        let isKept = interval == 1 && first < next
        let low = isKept ? lines[first].start : first == 0 ? 0 : lines[first - 1].start
        return low..<max(low, next < lines.count ? lines[next].start : bytes)
    }

    /// The index of the first line whose key holds; keys that do not hold come first.
    private func firstIndex(where holds: (UInt64) -> Bool) -> Int {
        var low = 0
        var high = lines.count
        while low < high {
            let middle = low + (high - low) / 2
            if holds(lines[middle].key) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private static func key(of digest: String) -> UInt64 {
        UInt64(digest.prefix(16), radix: 16) ?? 0
    }
}

/// The roots that an audit trusts: Apple's, and roots that the caller gave.
///
/// The roots that a report names itself are never trusted because of that.
package struct AuditTrust: Sendable {
    /// Trusts only Apple's root.
    let apple: JWSVerifier
    /// Trusts only the given roots; `nil` when none was given.
    let given: JWSVerifier?
    /// Plan and corrections name the same payloads; this takes some three megabytes.
    private static let rememberedPayloads = 1 << 15
    private let givenFingerprints: Set<String>

    /// - Parameter certificateFiles: Contents of files: one certificate in DER, or several in PEM.
    /// - Throws: `.certificate` when one of them cannot be read.
    package init(certificateFiles: [[UInt8]]) throws(AuditFailure) {
        do throws(JSONWebSignatureError) {
            let roots = try TrustedRoots(fingerprints: [], certificateFiles: certificateFiles)
            givenFingerprints = Set(roots.listing.map(\.fingerprint))
            given = certificateFiles.isEmpty ? nil : try Self.verifier(for: roots)
            apple = try Self.verifier(
                for: TrustedRoots(fingerprints: [AppleCertificates.rootG3Fingerprint]))
        } catch {
            throw .certificate("\(error)")
        }
    }

    /// Checks every chain at its payload's date; a payload without a date is never valid.
    static func verifier(for roots: TrustedRoots) throws(JSONWebSignatureError) -> JWSVerifier {
        try JWSVerifier(
            roots: roots, markers: AppleCertificates.markers, remembering: rememberedPayloads,
            now: { .min })
    }

    func names(_ fingerprint: String) -> Bool {
        fingerprint == AppleCertificates.rootG3Fingerprint
            || givenFingerprints.contains(fingerprint)
    }

    /// The verifier for a chain that contains this root.
    ///
    /// Apple's root is never mixed with others, so that evidence that counts as Apple's leads to
    /// it.
    func verifier(forRoot fingerprint: String?) -> JWSVerifier {
        fingerprint == AppleCertificates.rootG3Fingerprint ? apple : given ?? apple
    }
}
