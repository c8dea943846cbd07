package import ArgumentParser
import Glibc
import ReportAudit
package import Subscriptions

/// `trueup verify`: whether reports are as they were written, and Apple signed what they rest on.
package struct Verify: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Check signatures, hash chain, manifests and totals of reports; 7 if tampered.",
        discussion: """
            Takes the folder of one run or a whole report folder, and names everything that is \
            wrong. It needs no key, network or database, and no settings when a folder is given; \
            what is still being written (*.partial) is left alone.

            Evidence counts only if it leads to Apple Root CA - G3, or to a root given with \
            --trusted-root or in the settings; what a report says of its own root does not count.

            A folder cannot show that its newest runs were taken away, or that everything was \
            written anew from some night on. Write down the digests that verify prints, elsewhere, \
            and give one of them later with --anchor.
            """)

    @Argument(
        help: ArgumentHelp(
            "A run's folder or a report folder (default: the configured one).", valueName: "dir"))
    package var directory: String?

    @Option(
        name: .customLong("trusted-root"),
        help: ArgumentHelp(
            "A certificate (PEM or DER) that evidence may lead to besides Apple's; repeatable.",
            valueName: "file"))
    package var trustedRoots: [String] = []

    @Option(
        name: .customLong("anchor"),
        help: ArgumentHelp(
            "A manifest digest or ledger head that must still be in the chain; repeatable.",
            valueName: "digest"))
    package var anchors: [String] = []

    @OptionGroup package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try settings(invocation)
        guard let directory = directory ?? settings?.reportDirectory else {
            throw CommandFailure(.usage, "name a folder to verify")
        }
        let audit = try ReportAudit(
            trust: AuditTrust(certificateFiles: try certificates(settings)), anchors: anchors)
        var report = VerifyReport(directory: directory)
        let ink = VerifyReport.Ink(
            isColoured: common.color.applies(
                toTerminal: invocation.outputIsTerminal, environment: invocation.environment))
        let result = try await audit.audit(directory) { run in
            if common.json {
                report.take(run)
            } else {
                for line in VerifyReport.lines(of: run, quiet: common.quiet, ink) {
                    try invocation.output.line(line)
                }
                try invocation.output.flush()
            }
        }
        if common.json {
            try invocation.output.line(report.json(of: result).rendered)
        } else {
            for line in report.closing(of: result, quiet: common.quiet, ink) {
                try invocation.output.line(line)
            }
        }
        return result.isIntact ? .ok : .tampered
    }

    /// The settings; with a folder given they are welcome and not needed.
    private func settings(_ invocation: Invocation) throws -> Settings? {
        let file = Settings.file(flag: common.config, environment: invocation.environment)
        guard directory != nil, common.config == nil else {
            return try Settings.load(flag: common.config, environment: invocation.environment)
        }
        guard unsafe access(file, F_OK) == 0 else { return nil }
        do throws(ConfigurationError) {
            return try Settings.load(flag: nil, environment: invocation.environment)
        } catch {
            invocation.say("warning: \(error); its trusted roots are not used")
            return nil
        }
    }

    private func certificates(_ settings: Settings?) throws -> [[UInt8]] {
        var paths: [String] = []
        for case .file(let path) in settings?.apps.flatMap(\.trustedRoots) ?? [] {
            paths.append(path)
        }
        var files: [[UInt8]] = []
        for path in paths.uniqued() {
            files.append(try SettingsFile.bytes(ofFileAt: path, key: "trusted_roots"))
        }
        for path in trustedRoots {
            do throws(ConfigurationError) {
                files.append(try SettingsFile.bytes(ofFileAt: path, key: "--trusted-root"))
            } catch {
                throw CommandFailure(.data, "--trusted-root: \(error)")
            }
        }
        return files
    }
}
