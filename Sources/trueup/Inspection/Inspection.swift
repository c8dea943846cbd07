import AppStoreServerAPI
import FoundationEssentials
import Glibc
import JSONWebSignature
import Subscriptions

/// The result of `inspect` for one input.
enum Inspection {
    /// One JWS; `isAlone` when the verdict is on it alone, whatever is inside.
    case payload(InspectedPayload, isAlone: Bool)
    /// A JSON text.
    case answer(InspectedAnswer)
    /// JSON Lines, each with its number in the file.
    case lines([(number: Int, answer: InspectedAnswer)])

    /// Judges the bytes of a file.
    ///
    /// One line end after the text is the editor's and is cut off; any other white space belongs to
    /// the text and makes a JWS invalid, as everywhere.
    init(of bytes: [UInt8], as kind: PayloadKind?, by inspector: PayloadInspector) async throws {
        let text = Self.withoutLineEnd(bytes)
        if kind == nil, Self.isJSON(text) {
            self = await Self.unfolded(text, by: inspector)
            return
        }
        self = .payload(await inspector.inspect(text, as: kind), isAlone: kind != nil)
    }

    /// Nothing can be checked with a root that is not a certificate.
    init(refused error: JSONWebSignatureError, kind: PayloadKind?) {
        let detail = "nothing is trusted: \(error.detail)"
        self = .payload(
            InspectedPayload(
                path: "", kind: kind, judgement: .failed(.certificate, detail), digest: ""),
            isAlone: true)
    }

    var judgement: Judgement {
        switch self {
        case .payload(let payload, isAlone: true): payload.judgement
        case .payload(let payload, isAlone: false): payload.overall
        case .answer(let answer): answer.overall
        case .lines(let lines): .worst(of: lines.map(\.answer.overall))
        }
    }

    private static func unfolded(
        _ text: ArraySlice<UInt8>, by inspector: PayloadInspector
    ) async -> Inspection {
        let whole = await inspector.unfold(json: Array(text))
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard whole.document == nil, lines.count > 1 else { return .answer(whole) }
        var answers: [(number: Int, answer: InspectedAnswer)] = []
        for (index, line) in lines.enumerated() where line.contains(where: { !isSpace($0) }) {
            answers.append((index + 1, await inspector.unfold(json: Array(line))))
        }
        // JSON that is broken, not lines of it: one reason rather than one for each line.
        guard answers.contains(where: { $0.answer.document != nil }) else { return .answer(whole) }
        return .lines(answers)
    }

    /// The first byte tells: a JWS begins with the base64url of its header.
    private static func isJSON(_ text: ArraySlice<UInt8>) -> Bool {
        text.first { !isSpace($0) } == UInt8(ascii: "{")
    }

    private static func withoutLineEnd(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        var text = bytes[...]
        if text.last == UInt8(ascii: "\n") { text.removeLast() }
        if text.count < bytes.count, text.last == UInt8(ascii: "\r") { text.removeLast() }
        return text
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}

/// `inspect --json`: one object on one line; payloads keep every text and number as received.
///
/// Written member by member, because `CanonicalJSON` would spell a payload again.
extension Inspection {
    private typealias Members = [(name: String, value: String)]

    var json: String {
        switch self {
        case .payload(let payload, _):
            return Self.object(Self.members(of: payload, judgement: judgement))
        case .answer(let answer):
            return Self.object(Self.members(of: answer))
        case .lines(let lines):
            let objects = lines.map { number, answer in
                Self.object([("line", String(number))] + Self.members(of: answer))
            }
            return Self.object(
                Self.head(judgement, kind: lines.first?.answer.kind?.rawValue, payload: nil)
                    + [("lines", Self.array(objects))])
        }
    }

    private static func head(
        _ judgement: Judgement, kind: String?, payload: JSONDocument?
    ) -> Members {
        [
            ("verdict", json(judgement.verdict.rawValue)),
            ("reason", json(judgement.reason?.rawValue)),
            ("kind", json(kind)),
            ("payload", payload?.root.compact() ?? "null"),
            ("detail", json(judgement.detail)),
        ]
    }

    private static func members(of answer: InspectedAnswer) -> Members {
        var members = head(answer.overall, kind: answer.kind?.rawValue, payload: nil)
        if let document = answer.document {
            let places = Dictionary(
                answer.parts.enumerated().map { ($1.path, $0) }
            ) { first, _ in first }
            // This part is not signed; the JWS in it are in `layers`.
            let unsigned = document.root.compact { path, _ in
                places[path].map { "{\"layer\":\($0)}" }
            }
            members.append(("unsigned", unsigned))
        }
        members.append(("layers", array(answer.parts.map(layer))))
        return members
    }

    private static func layer(_ payload: InspectedPayload) -> String {
        object(
            [("path", json(payload.path))] + members(of: payload, judgement: payload.judgement))
    }

    private static func members(of payload: InspectedPayload, judgement: Judgement) -> Members {
        let unknowns = payload.unknowns.map {
            object([("field", json($0.field)), ("value", json($0.value))])
        }
        return head(judgement, kind: payload.kind?.rawValue, payload: payload.payload) + [
            ("sha256", json(payload.digest.isEmpty ? nil : payload.digest)),
            ("signed_date", CanonicalJSON.time(payload.signedDate).rendered),
            ("judged_at", CanonicalJSON.time(payload.judgedAt).rendered),
            ("expected", payload.expected.map(self.expected) ?? "null"),
            ("not_compared", array(payload.notCompared.map { json($0) })),
            ("unknown", array(unknowns)),
            ("not_signed", array(payload.unsignedParts.map { json($0) })),
            ("certificates", array(payload.certificates.map(certificate))),
            ("trusted_root", payload.anchor.map(certificate) ?? "null"),
            ("layers", array(payload.inner.map(layer))),
        ]
    }

    private static func expected(_ expected: ExpectedIdentity) -> String {
        object([
            ("bundle_id", json(expected.bundleID)),
            ("app_apple_id", expected.appAppleID.map { String($0) } ?? "null"),
            ("environment", json(expected.environment?.rawValue)),
        ])
    }

    private static func certificate(_ facts: CertificateFacts) -> String {
        let first = Timestamp(unixMilliseconds: facts.notBefore)
        let last = Timestamp(unixMilliseconds: facts.notAfter)
        return object([
            ("subject", json(facts.subject)), ("serial_number", json(facts.serialNumber)),
            ("not_before", json(first.rfc3339)), ("not_after", json(last.rfc3339)),
            ("sha256", json(facts.fingerprint)),
        ])
    }

    private static func json(_ text: String?) -> String { CanonicalJSON.text(text).rendered }

    private static func array(_ values: [String]) -> String {
        "[" + values.joined(separator: ",") + "]"
    }

    private static func object(_ members: Members) -> String {
        "{" + members.map { json($0.name) + ":" + $0.value }.joined(separator: ",") + "}"
    }
}

/// The values that `inspect` compares a payload with, and the roots that it trusts: from its
/// options or from the settings.
extension Inspect {
    /// - Returns: A given root that is not a certificate is a refusal of everything: a verdict, not an
    ///   error. The remarks are those that the reader needs about the verdict, in sentences.
    func inspector(
        in invocation: Invocation
    ) throws -> (Result<PayloadInspector, JSONWebSignatureError>, remarks: [String]) {
        var remarks: [String] = []
        let clock = invocation.now
        let now: @Sendable () -> Int64 = { clock().unixMilliseconds }
        let settings = try comparedSettings(in: invocation)
        let candidates: [PayloadInspector.Candidate]
        if let settings {
            candidates = try settings.apps.map { app in
                let expected = ExpectedIdentity(
                    bundleID: app.identity.bundleID, appAppleID: app.appAppleID,
                    environment: app.identity.environment)
                return try PayloadInspector.Candidate(
                    expected: expected, roots: try app.roots(), now: now)
            }
            if settings.apps.contains(where: { $0.trustedRoots != [.apple] }) {
                remarks.append("The settings trust another root than Apple's.")
            }
        } else {
            do {
                candidates = [try candidate(now: now)]
            } catch let error as JSONWebSignatureError {
                return (.failure(error), remarks)
            }
            if !trustedRoots.isEmpty {
                remarks.append("Roots other than Apple's were trusted, as --trusted-root says.")
            }
        }
        let inspector = PayloadInspector(candidates: candidates, at: at?.timestamp, now: now)
        return (.success(inspector), remarks)
    }

    /// The settings where they count; `nil` where options replace them or there are none.
    private func comparedSettings(in invocation: Invocation) throws -> Settings? {
        let areReplaced =
            !trustedRoots.isEmpty || bundleID != nil || appAppleID != nil || environment != nil
        guard !areReplaced else { return nil }
        let file = Settings.file(flag: common.config, environment: invocation.environment)
        let isNamed = file != Settings.defaultFile || common.config != nil
        guard isNamed || FileManager.default.fileExists(atPath: file) else { return nil }
        return try common.settings(in: invocation)
    }

    private func candidate(
        now: @escaping @Sendable () -> Int64
    ) throws -> PayloadInspector.Candidate {
        let files = try trustedRoots.map { try Inspection.bytes(of: $0) }
        let roots = try TrustedRoots(
            fingerprints: files.isEmpty ? [AppleCertificates.rootG3Fingerprint] : [],
            certificateFiles: files)
        var expected = ExpectedIdentity(
            bundleID: bundleID, appAppleID: appAppleID, environment: nil)
        if case .appStore(let environment) = environment {
            expected.environment = environment
        }
        var candidate = try PayloadInspector.Candidate(expected: expected, roots: roots, now: now)
        if case .unsigned(let environment) = environment {
            candidate.unsignedEnvironment = environment
        }
        return candidate
    }
}

/// Reads what is to be inspected: any bytes, as they are.
extension Inspection {
    /// A history page is half a megabyte, an `evidence.jsonl` of a large run some tens.
    private static let maximumBytes = 256 << 20

    /// - Throws: 65 when the file is absent, a folder, unreadable or beyond all measure.
    static func bytes(of file: String) throws(CommandFailure) -> [UInt8] {
        guard file != "-" else { return try read(STDIN_FILENO, named: "standard input") }
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw unreadable(file)
        }
        defer { close(descriptor) }
        return try read(descriptor, named: file)
    }

    /// The error of the last call, which could not read.
    private static func unreadable(_ name: String) -> CommandFailure {
        CommandFailure(
            .data, "\(name): cannot be read: \(SettingsFile.reason(errno)); nothing was checked")
    }

    /// Refuses what holds nothing but white space: no payload was there to check.
    ///
    /// - Throws: 65.
    static func refuseEmpty(_ bytes: [UInt8], from file: String) throws(CommandFailure) {
        guard bytes.allSatisfy(isSpace) else { return }
        let name = file == "-" ? "standard input" : file
        throw CommandFailure(
            .data, "\(name): is empty; nothing was checked. Give it a JWS or an answer of Apple's")
    }

    private static func read(
        _ descriptor: Int32, named name: String
    ) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(name) }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= maximumBytes else {
                throw CommandFailure(
                    .data,
                    "\(name): is longer than \(maximumBytes >> 20) MiB; nothing was checked. "
                        + "Inspect it in parts")
            }
        }
    }
}
