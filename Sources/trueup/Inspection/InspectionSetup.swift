import AppStoreServerAPI
import FoundationEssentials
import Glibc
import JSONWebSignature
import Subscriptions

/// What `inspect` compares a payload with, and which roots it trusts: from its options or from the settings.
struct InspectionSetup {
    /// A given root that is no certificate is a refusal of everything: a verdict, not an error.
    let inspector: Result<PayloadInspector, JSONWebSignatureError>
    /// What the reader must know about the verdict, in sentences.
    private(set) var remarks: [String] = []

    init(_ command: Inspect, in invocation: Invocation) throws {
        let clock = invocation.now
        let now: @Sendable () -> Int64 = { clock().unixMilliseconds }
        let settings = try Self.settings(for: command, in: invocation)
        let candidates: [PayloadInspector.Candidate]
        if let settings {
            candidates = try settings.apps.map { app in
                let expected = ExpectedIdentity(
                    bundleID: app.identity.bundleID, appAppleID: app.appAppleID,
                    environment: app.identity.environment)
                return try PayloadInspector.Candidate(
                    expected: expected, roots: try AppTrust.roots(of: app), now: now)
            }
            if settings.apps.contains(where: { $0.trustedRoots != [.apple] }) {
                remarks.append("The settings trust another root than Apple's.")
            }
        } else {
            do {
                candidates = [try Self.candidate(command, now: now)]
            } catch let error as JSONWebSignatureError {
                inspector = .failure(error)
                return
            }
            if !command.trustedRoots.isEmpty {
                remarks.append("Roots other than Apple's were trusted, as --trusted-root says.")
            }
        }
        inspector = .success(
            PayloadInspector(candidates: candidates, at: command.at?.timestamp, now: now))
    }

    /// The settings where they count; `nil` where options replace them or there are none.
    private static func settings(
        for command: Inspect, in invocation: Invocation
    ) throws -> Settings? {
        guard !command.replacesSettings else { return nil }
        let file = Settings.file(flag: command.common.config, environment: invocation.environment)
        let isNamed = file != Settings.defaultFile || command.common.config != nil
        guard isNamed || FileManager.default.fileExists(atPath: file) else { return nil }
        return try Settings.load(
            flag: command.common.config, environment: invocation.environment)
    }

    private static func candidate(
        _ command: Inspect, now: @escaping @Sendable () -> Int64
    ) throws -> PayloadInspector.Candidate {
        let files = try command.trustedRoots.map { try InspectionInput.bytes(of: $0) }
        let roots = try TrustedRoots(
            fingerprints: files.isEmpty ? [AppleCertificates.rootG3Fingerprint] : [],
            certificateFiles: files)
        var expected = ExpectedIdentity(
            bundleID: command.bundleID, appAppleID: command.appAppleID, environment: nil)
        if case .appStore(let environment) = command.environment {
            expected.environment = environment
        }
        var candidate = try PayloadInspector.Candidate(expected: expected, roots: roots, now: now)
        if case .unsigned(let environment) = command.environment {
            candidate.unsignedEnvironment = environment
        }
        return candidate
    }
}

/// Reads what is to be inspected: any bytes, as they are.
enum InspectionInput {
    /// A history page is half a megabyte, an `evidence.jsonl` of a large night some tens.
    static let maximumBytes = 256 << 20

    static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// - Throws: 65 when the file is absent, a folder, unreadable or beyond all measure.
    static func bytes(of file: String) throws(CommandFailure) -> [UInt8] {
        guard file != "-" else { return try read(STDIN_FILENO, named: "standard input") }
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .data, "\(file): cannot be read: \(SettingsFile.reason(errno)); nothing was judged")
        }
        defer { close(descriptor) }
        return try read(descriptor, named: file)
    }

    /// Refuses what holds nothing but white space: no payload was there to judge.
    ///
    /// - Throws: 65.
    static func refuseEmpty(_ bytes: [UInt8], from file: String) throws(CommandFailure) {
        guard bytes.allSatisfy({ [0x09, 0x0A, 0x0D, 0x20].contains($0) }) else { return }
        let name = file == "-" ? "standard input" : file
        throw CommandFailure(
            .data, "\(name): is empty; nothing was judged. Give it a JWS or an answer of Apple's")
    }

    private static func read(
        _ descriptor: Int32, named name: String
    ) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw CommandFailure(
                    .data,
                    "\(name): cannot be read: \(SettingsFile.reason(errno)); nothing was judged")
            }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= maximumBytes else {
                throw CommandFailure(
                    .data,
                    "\(name): is longer than \(maximumBytes >> 20) MiB; nothing was judged. "
                        + "Inspect it in parts")
            }
        }
    }
}
