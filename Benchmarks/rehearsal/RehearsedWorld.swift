import Foundation
import TestSupport

/// The scenario of the simulated App Store: a random population, and scripted customers whose
/// subscriptions change without any notification.
///
/// The population has Apple's lives with the simulator's usual rates. What never happens in it is
/// scripted: changes that Apple tells nobody, and new customers.
struct RehearsedWorld {
    /// When the world begins; a night follows every 24 hours later.
    static let start = "2026-11-20T03:00:00Z"
    /// Scripted customers of each kind, for each thousand of the population; three at least.
    private static let scriptedPerThousand = 1
    private static let leastScripted = 3

    let customers: Int
    let nights: Int
    let seed: UInt64

    /// The scenario file.
    var scenario: String {
        var generator = SeededGenerator(seed: seed ^ 0xF1EE7)
        var text = "about: A fleet whose App Store is not always heard.\n"
        text += "now: \(Self.start)\ncustomers:\n"
        let count = max(Self.leastScripted, customers * Self.scriptedPerThousand / 1_000)
        for kind in SilentChange.allCases {
            for number in 1...count {
                // Between two nights, and early enough that at least one night follows.
                let hours = Int.random(in: 1..<max(2, nights * 24 - 1), using: &generator)
                text += "  - name: \(kind.rawValue)-\(number)\n    life:\n"
                for step in kind.life(changedAfterHours: hours) { text += "      - {\(step)}\n" }
            }
        }
        return text + "population:\n  customers: \(customers)\n"
    }
}

/// What a scripted customer does without a notification.
private enum SilentChange: String, CaseIterable {
    /// A refund ends a yearly subscription.
    case refunded
    /// Auto-renewal is turned off.
    case cancelled
    /// The end of a yearly subscription moves, two days before it: our row's own end passes.
    case extended
    /// An ended subscription is bought again.
    case returned
    /// Not silent: a new customer, whom the company's app knows at once.
    case new

    func life(changedAfterHours hours: Int) -> [String] {
        let yearly = "video.premium.yearly"
        return switch self {
        case .refunded:
            [
                "at: -100d, buy: \(yearly)",
                "at: +\(hours)h, refund: 100, deliver: unsent",
            ]
        case .cancelled:
            [
                "at: -40d, buy: news.yearly",
                "at: +\(hours)h, cancel: true, deliver: unsent",
            ]
        case .extended:
            [
                "at: -\(363 * 24 - hours)h, buy: \(yearly)",
                "at: +\(hours)h, extend: 30, deliver: unsent",
            ]
        case .returned:
            [
                "at: -90d, buy: news.monthly", "at: -85d, cancel: true",
                "at: +\(hours)h, resubscribe: news.yearly, deliver: unsent",
            ]
        case .new: ["at: +\(hours)h, buy: storage.large.monthly"]
        }
    }
}
