package import AppStoreServerAPI
package import ArgumentParser
package import Subscriptions

/// `trueup inspect [FILE]`: what a signed payload or an answer of Apple's says, and whether it holds.
package struct Inspect: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Verify and unfold any JWS or API answer, nested payloads included.",
        discussion: """
            FILE holds one compact JWS, an answer of the App Store Server API, the body of a \
            notification, or lines of a report's evidence.jsonl. The whole verdict is the worst of \
            all payloads in it. With --kind it is one JWS of that kind, and the verdict is on that \
            JWS alone; those inside it are shown with their own.

            Without any of the options --trusted-root, --bundle-id, --app-apple-id and \
            --environment the apps and roots of the settings count; with one of them the settings \
            are not read, and what is not given is not compared. Nothing of a payload is shown \
            before its signature and chain hold. No network access: revocation is not asked.

            Exit status: 0 valid, 7 invalid, 3 undetermined; 65 when there is nothing to judge.
            """)

    @Argument(help: "The file; - or nothing reads standard input.", completion: .file())
    package var file: String?

    @Option(
        help: ArgumentHelp(
            "auto, transaction, renewalInfo, notification, appTransaction or realtimeRequest.",
            valueName: "kind"))
    package var kind = KindOption.auto

    @Option(
        name: .customLong("trusted-root"),
        help: ArgumentHelp(
            "A root certificate to trust, PEM or DER, instead of Apple's; repeatable.",
            valueName: "file"), completion: .file())
    package var trustedRoots: [String] = []

    @Option(
        name: .customLong("bundle-id"),
        help: ArgumentHelp("The app that it must be for.", valueName: "id"))
    package var bundleID: String?

    @Option(
        name: .customLong("app-apple-id"),
        help: ArgumentHelp("The App Store's id of that app.", valueName: "number"))
    package var appAppleID: Int64?

    @Option(
        help: ArgumentHelp(
            "Production or Sandbox; others are known and always refused.", valueName: "name"))
    package var environment: EnvironmentOption?

    @Option(
        help: ArgumentHelp(
            "Judge the chain's dates at this time (RFC 3339 or UNIX milliseconds) instead of "
                + "when it was signed.", valueName: "time"))
    package var at: MomentOption?

    @OptionGroup(title: "For every command") package var common: CommonOptions

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
            try invocation.show(text: text.rendered(inspection), isColoured: isColoured)
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
