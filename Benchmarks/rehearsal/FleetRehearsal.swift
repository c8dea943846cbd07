import Foundation

/// Runs a simulated fleet through the same nights twice, with `coverage: full` and with
/// `coverage: delta`, and compares what they asked and what they found.
///
/// Both programs are black boxes here: processes, the simulator's control port, and the company's
/// own table. How many calls were made, the App Store counts; what is true, it says itself.
@main struct FleetRehearsal {
    static func main() async throws {
        guard let options = RehearsalOptions(Array(CommandLine.arguments.dropFirst())) else {
            print(RehearsalOptions.usage)
            exit(64)
        }
        let fullNights = min(options.fullNights ?? options.nights, options.nights)
        let naive = try await Rehearsal(
            options: options, coverage: "full", nights: fullNights
        ).run()
        let delta = try await Rehearsal(
            options: options, coverage: "delta", nights: options.nights
        ).run()
        let record = RehearsalRecord(options: options, naive: naive, delta: delta)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(record).write(to: URL(fileURLWithPath: options.output))
        print(RehearsalText(record: record).text)
        exit(record.missedGoals.isEmpty ? 0 : 1)
    }
}
