import ArgumentParser
import Subscriptions

/// The options of the world: seed, customers, scenario and clock.
struct WorldOptions: ParsableArguments {
    @Option(help: "Seed of the world; the same seed makes the same world.")
    var seed: UInt64 = 1

    @Option(
        help: ArgumentHelp(
            "Customers of the production world; the sandbox has a twentieth.",
            discussion: "Default: 2000, or what the scenario says, or 0 with --table."))
    var customers: Int?

    @Option(
        help: ArgumentHelp(
            "Scripted customers and a population with rates (YAML); see docs/simulator.md.",
            valueName: "file"))
    var scenario: String?

    @Option(
        help: ArgumentHelp(
            "Your own table (CSV): the store has its subscriptions, as the rows say.",
            discussion: "Adds no random customers, unless --customers says how many.",
            valueName: "file"))
    var table: String?

    @Option(
        help: ArgumentHelp(
            "What the app sells, where and at which prices (YAML); see docs/simulator.md.",
            valueName: "file"))
    var catalogue: String?

    @Option(
        help: ArgumentHelp(
            "Accelerate the sandbox: a month lasts so many minutes (3 to 60; Apple's: 5).",
            discussion: "Default: periods as long as in production.", valueName: "minutes"))
    var sandboxMonth: Int?

    @Option(
        help: ArgumentHelp(
            "How many days a signing leaf lasts before another one replaces it (1 to 3650).",
            discussion: "Default: 1700; Apple's last about 760.", valueName: "days"))
    var leafDays: Int?

    @Option(
        help: ArgumentHelp(
            "How many days the issuer of leaves lasts before another one replaces it (2 to 3650).",
            discussion: "At least twice --leaf-days. Default: one issuer for many years.",
            valueName: "days"))
    var intermediateDays: Int?

    @Option(
        help: ArgumentHelp(
            "The time at which the simulated clock stops, for example 2026-11-20T03:00:00Z.",
            discussion: "Default: the real time, running.", valueName: "time"))
    var now: String?

    @Option(
        help: ArgumentHelp(
            "How fast the simulated clock runs: 0 stops it, 1 is real time, 60 is an hour a minute.",
            discussion: "Default: 0 with --now, otherwise 1; at most 86400.", valueName: "factor"))
    var speed: Double?

    init() {}

    mutating func validate() throws {
        if let customers, !(0...1_000_000).contains(customers) {
            throw ValidationError("--customers must be from 0 to 1000000.")
        }
        if let sandboxMonth, !(3...60).contains(sandboxMonth) {
            throw ValidationError("--sandbox-month must be from 3 to 60.")
        }
        if let leafDays, !(1...3650).contains(leafDays) {
            throw ValidationError("--leaf-days must be from 1 to 3650.")
        }
        if let intermediateDays, !(2...3650).contains(intermediateDays) {
            throw ValidationError("--intermediate-days must be from 2 to 3650.")
        }
        if let intermediateDays, intermediateDays < 2 * (leafDays ?? 1700) {
            throw ValidationError(
                "--intermediate-days must be at least twice --leaf-days (1700 unless said): an "
                    + "issuer outlasts the leaves that it issues.")
        }
        if let speed, !(0...86_400).contains(speed) {
            throw ValidationError("--speed must be from 0 to 86400.")
        }
        if let now, Timestamp(rfc3339: now) == nil {
            throw ValidationError("--now must be a time such as 2026-11-20T03:00:00Z.")
        }
    }
}
