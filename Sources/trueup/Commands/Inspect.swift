package import AppStoreServerAPI
package import ArgumentParser
package import Subscriptions

/// `trueup inspect [FILE]`: what a signed payload or an answer of Apple's says, and whether it holds.
package struct Inspect: Verb {
    package static let configuration = CommandConfiguration(
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
    package var file: String?

    @Option(
        help: ArgumentHelp(
            "What the file holds.",
            valueName: "kind"))
    package var kind = KindOption.auto

    @Option(
        name: .customLong("trusted-root"),
        help: ArgumentHelp(
            "Trust this root certificate (PEM or DER) instead of Apple's; may be repeated.",
            valueName: "file"), completion: .file())
    package var trustedRoots: [String] = []

    @Option(
        name: .customLong("bundle-id"),
        help: ArgumentHelp("The bundle id of the app that it must be for.", valueName: "id"))
    package var bundleID: String?

    @Option(
        name: .customLong("app-apple-id"),
        help: ArgumentHelp("The App Store's id of that app.", valueName: "number"))
    package var appAppleID: Int64?

    @Option(
        help: ArgumentHelp(
            "The environment that it must be for: Production or Sandbox.", valueName: "name"))
    package var environment: EnvironmentOption?

    @Option(
        help: ArgumentHelp(
            "Check the chain's dates at this time, in RFC 3339 or UNIX milliseconds (default: when it "
                + "was signed).", valueName: "time"))
    package var at: MomentOption?

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package static let exitStatuses = CommandStatuses(
        [CommandStatuses.anyCommand, [.config]],
        [
            .ok: "valid", .incomplete: "undetermined: a payload cannot be checked completely",
            .tampered: "invalid", .data: "the file cannot be read, or is empty",
        ])

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        if file ?? "-" == "-", InspectionInput.isTerminal, !common.quiet {
            invocation.say("Reading standard input; end it with ^D.")
        }
        let bytes = try InspectionInput.bytes(of: file ?? "-")
        try InspectionInput.refuseEmpty(bytes, from: file ?? "-")
        let inspection: Inspection
        let setup = try InspectionSetup(self, in: invocation)
        switch setup.inspector {
        case .failure(let refused): inspection = Inspection(refused: refused, kind: kind.kind)
        case .success(let inspector):
            inspection = try await Inspection(of: bytes, as: kind.kind, by: inspector)
        }
        if common.json {
            try invocation.show(renderedJSON: InspectionJSON.text(of: inspection))
        } else {
            let isColoured = common.color.applies(
                toTerminal: invocation.outputIsTerminal, environment: invocation.environment)
            let text = InspectionText(
                isColoured: isColoured, isVerbose: common.verbose,
                remarks: common.quiet ? [] : setup.remarks)
            try invocation.show(lines: text.lines(of: inspection), isColoured: isColoured)
        }
        switch inspection.judgement.verdict {
        case .valid: return .ok
        case .invalid: return .tampered
        case .undetermined: return .incomplete
        }
    }
}

extension Inspect {
    /// Whether options say what to compare with, so that no settings are needed.
    var replacesSettings: Bool {
        !trustedRoots.isEmpty || bundleID != nil || appAppleID != nil || environment != nil
    }
}

/// `--kind`.
package enum KindOption: String, CaseIterable, Sendable, ExpressibleByArgument {
    case auto, transaction, renewalInfo, notification, appTransaction, realtimeRequest

    /// `nil` for `auto`.
    var kind: PayloadKind? { PayloadKind(rawValue: rawValue) }
}

/// `--environment`, in Apple's spelling or in that of the settings.
package enum EnvironmentOption: Hashable, Sendable, ExpressibleByArgument {
    case appStore(AppStoreEnvironment)
    /// Xcode, LocalTesting: what comes from there is refused.
    case unsigned(UnsignedEnvironment)

    package init?(argument: String) {
        let folded = argument.lowercased().filter { $0 != "_" && $0 != "-" }
        if let environment = AppStoreEnvironment.allCases.first(where: {
            $0.rawValue.lowercased() == folded
        }) {
            self = .appStore(environment)
        } else if let environment = UnsignedEnvironment.allCases.first(where: {
            $0.rawValue.lowercased() == folded
        }) {
            self = .unsigned(environment)
        } else {
            return nil
        }
    }
}

/// `--at`: RFC 3339, or UNIX milliseconds as Apple writes times.
package struct MomentOption: ExpressibleByArgument, Hashable, Sendable {
    package let timestamp: Timestamp

    package init?(argument: String) {
        if let milliseconds = Int64(argument) {
            timestamp = Timestamp(unixMilliseconds: milliseconds)
        } else if let time = Timestamp(rfc3339: argument) {
            timestamp = time
        } else {
            return nil
        }
    }
}
