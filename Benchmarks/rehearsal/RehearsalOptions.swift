import Foundation

/// What the command line asks for.
struct RehearsalOptions {
    static let usage = """
        usage: fleet-rehearsal [--customers N] [--nights N] [--seed N] [--bin DIR] [--output FILE]
                               [--sample SHARE] [--job LINE]... [--full-nights N]

          --customers N    customers of the simulated App Store (10000)
          --nights N       nights, a day apart (30; at most 180)
          --seed N         the same seed makes the same customers, losses and mistakes (1)
          --bin DIR        where trueup and appstore-simulator are (beside this program)
          --output FILE    where the figures are written (rehearsal.json)
          --sample SHARE   the share of the quiet rows that is drawn each night (0.01, and not
                           more than 1,000 rows)
          --job LINE       a line of the job file of coverage: delta, such as "sweep_days: 60"
          --full-nights N  nights of coverage: full, whose calls are the same every night, where
                           all of them take too long (as many as --nights)
        """

    var customers = 10_000
    var nights = 30
    var seed: UInt64 = 1
    var programs: URL?
    var output = "rehearsal.json"
    var sample: Double?
    var jobLines: [String] = []
    var fullNights: Int?

    /// Reads the arguments; `nil` where they make no sense.
    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            guard set(name, to: value) else { return nil }
        }
    }

    private mutating func set(_ name: String, to value: String) -> Bool {
        switch name {
        case "--customers":
            guard let number = Int(value), (1...10_000_000).contains(number) else { return false }
            customers = number
        case "--nights":
            guard let number = Int(value), (1...180).contains(number) else { return false }
            nights = number
        case "--full-nights":
            guard let number = Int(value), (2...180).contains(number) else { return false }
            fullNights = number
        case "--seed":
            guard let number = UInt64(value) else { return false }
            seed = number
        case "--sample":
            guard let share = Double(value), (0...1).contains(share) else { return false }
            sample = share
        case "--bin": programs = URL(fileURLWithPath: value)
        case "--output": output = value
        case "--job": jobLines.append(value)
        default: return false
        }
        return true
    }

    /// The share of rows to sample: what was asked for, or one in a hundred, and not more than
    /// 1,000 rows, because the bound follows from the number of rows and not from the share.
    func sampleShare(rows: Int) -> Double {
        sample ?? min(0.01, 1_000 / Double(max(1, rows)))
    }
}
