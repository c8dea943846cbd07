import AppStoreServerAPI
import ArgumentParser
import Glibc
import Subscriptions

/// `trueup inspect [FILE]`: what a signed payload or an answer of Apple's says, and whether it holds.
struct Inspect: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Verify and unfold any JWS or answer of Apple's, nested payloads included.",
        discussion: """
            FILE holds one compact JWS, an answer of the App Store Server API, the body of a \
            notification, or lines of a report's evidence.jsonl. The verdict is the worst of all \
            payloads in it. With --kind, FILE holds one JWS of that kind, and the verdict is about that \
            JWS alone; payloads inside it are shown with their own verdicts.

            The command compares with the apps and roots of the settings. With --trusted-root, \
            --bundle-id, --app-apple-id or --environment it does not read the settings and compares only \
            with what you give. It shows nothing of a payload before its signature and chain are \
            verified. It uses no network and does not check revocation.
            """)

    @Argument(help: "The file (default: standard input, as with -).", completion: .file())
    var file: String?

    @Option(
        help: ArgumentHelp(
            "What the file holds.",
            valueName: "kind"))
    var kind = KindOption.auto

    @Option(
        name: .customLong("trusted-root"),
        help: ArgumentHelp(
            "Trust this root certificate (PEM or DER) instead of Apple's; may be repeated.",
            valueName: "file"), completion: .file())
    var trustedRoots: [String] = []

    @Option(
        help: ArgumentHelp("The bundle id of the app that it must be for.", valueName: "id"))
    var bundleID: String?

    @Option(
        help: ArgumentHelp("The App Store's id of that app.", valueName: "number"))
    var appAppleID: Int64?

    @Option(
        help: ArgumentHelp(
            "The environment that it must be for: Production or Sandbox.", valueName: "name"))
    var environment: EnvironmentOption?

    @Option(
        help: ArgumentHelp(
            "Check the chain's dates at this time, in RFC 3339 or UNIX milliseconds (default: when it "
                + "was signed).", valueName: "time"))
    var at: MomentOption?

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.anyCommand, [.config]],
        [
            .ok: "valid", .incomplete: "undetermined: a payload cannot be checked completely",
            .tampered: "invalid", .data: "the file cannot be read, or is empty",
        ])

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let file = file ?? "-"
        if file == "-", isatty(STDIN_FILENO) == 1, !common.quiet {
            invocation.say("Reading standard input; end it with ^D.")
        }
        let bytes = try Inspection.bytes(of: file)
        try Inspection.refuseEmpty(bytes, from: file)
        let inspection: Inspection
        let (inspector, remarks) = try inspector(in: invocation)
        switch inspector {
        case .failure(let refused): inspection = Inspection(refused: refused, kind: kind.kind)
        case .success(let inspector):
            inspection = try await Inspection(of: bytes, as: kind.kind, by: inspector)
        }
        if common.json {
            try invocation.show(renderedJSON: inspection.json)
        } else {
            let isColoured = common.colours(outputOf: invocation)
            let text = InspectionText(
                isColoured: isColoured, isVerbose: common.verbose,
                remarks: common.quiet ? [] : remarks)
            try invocation.show(lines: text.lines(of: inspection), isColoured: isColoured)
        }
        switch inspection.judgement.verdict {
        case .valid: return .ok
        case .invalid: return .tampered
        case .undetermined: return .incomplete
        }
    }
}

/// `--kind`.
enum KindOption: String, CaseIterable, Sendable, ExpressibleByArgument {
    case auto, transaction, renewalInfo, notification, appTransaction, realtimeRequest

    /// `nil` for `auto`.
    var kind: PayloadKind? { PayloadKind(rawValue: rawValue) }
}

/// `--environment`, in Apple's spelling or in that of the settings.
enum EnvironmentOption: Hashable, Sendable, ExpressibleByArgument {
    case appStore(AppStoreEnvironment)
    /// Xcode, LocalTesting: what comes from there is refused.
    case unsigned(UnsignedEnvironment)

    init?(argument: String) {
        let folded = argument.lowercased().filter { $0 != "_" && $0 != "-" }
        let known =
            AppStoreEnvironment.allCases.map { ($0.rawValue, Self.appStore($0)) }
            + UnsignedEnvironment.allCases.map { ($0.rawValue, Self.unsigned($0)) }
        guard let named = known.first(where: { $0.0.lowercased() == folded }) else { return nil }
        self = named.1
    }
}

/// `--at`: RFC 3339, or UNIX milliseconds as Apple writes times.
struct MomentOption: ExpressibleByArgument, Hashable, Sendable {
    let timestamp: Timestamp

    init?(argument: String) {
        let milliseconds = Int64(argument).map(Timestamp.init(unixMilliseconds:))
        guard let time = milliseconds ?? Timestamp(rfc3339: argument) else { return nil }
        timestamp = time
    }
}
