import AppStoreSimulation
import ArgumentParser

/// The options of faults and of the OCSP responder.
struct FaultOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A plan of faults and limits (YAML or JSON); see docs/simulator.md.", valueName: "file")
    )
    var faults: String?

    @Option(
        help: ArgumentHelp(
            "Also run a revocation service (OCSP), which the signing certificates name.",
            discussion: "For example good, revoked, unknown, late, absent: see docs/simulator.md.",
            valueName: "mode"))
    var ocsp: OCSPMode?

    @Option(help: "Port of the revocation service; 0 takes a free one.")
    var ocspPort = 0

    init() {}

    mutating func validate() throws {
        guard (0...65_535).contains(ocspPort) else {
            throw ValidationError("--ocsp-port must be from 0 to 65535.")
        }
        guard ocspPort == 0 || ocsp != nil else {
            throw ValidationError("--ocsp-port needs --ocsp: else nothing listens there.")
        }
    }
}

extension OCSPMode: ExpressibleByArgument {}
