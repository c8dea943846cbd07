/// What a run measured besides its verdicts: how late notifications came, and how hard Apple was asked.
package struct RunMeasures: Hashable, Sendable, Codable {
    /// `nil` where the run read no notification.
    package var delivery: DeliveryDelays?
    /// `nil` for runs of earlier versions, which did not measure it, and for runs in tests.
    package var effort: CallEffort?

    package init(delivery: DeliveryDelays? = nil, effort: CallEffort? = nil) {
        self.delivery = delivery
        self.effort = effort
    }
}

/// How long after Apple's signature the notifications came that a run read of Apple's history first.
package struct DeliveryDelays: Hashable, Sendable, Codable {
    /// Those that came to the company's endpoint: when it says so, else by Apple's first successful attempt.
    package var arrived: DelayFigures?
    /// Those that did not, or were lost there, and that this run brought.
    package var recovered: DelayFigures?
    /// Those that Apple still tries to send.
    package var underway: Int

    package init(arrived: DelayFigures?, recovered: DelayFigures?, underway: Int) {
        self.arrived = arrived
        self.recovered = recovered
        self.underway = underway
    }
}

/// How many delays, the middle one and the longest, in seconds.
package struct DelayFigures: Hashable, Sendable, Codable {
    package var notifications: Int
    /// Half of them took no longer; to the second below ten minutes, to the minute below a day, else to the
    /// hour.
    package var medianSeconds: Int64
    package var worstSeconds: Int64

    package init(notifications: Int, medianSeconds: Int64, worstSeconds: Int64) {
        self.notifications = notifications
        self.medianSeconds = medianSeconds
        self.worstSeconds = worstSeconds
    }
}

/// Collects delays in bounded memory, however many there are.
package struct DelayTally: Sendable {
    private var counts: [Int64: Int] = [:]
    private var worst: Int64 = 0
    private var notifications = 0

    package init() {}

    /// - Parameter milliseconds: The delay; clocks differ, so less than none counts as none.
    package mutating func add(milliseconds: Int64) {
        let seconds = max(0, milliseconds) / 1000
        notifications += 1
        worst = max(worst, seconds)
        counts[Self.rounded(seconds), default: 0] += 1
    }

    /// `nil` where there was none.
    package var figures: DelayFigures? {
        guard notifications > 0 else { return nil }
        var passed = 0
        var median: Int64 = 0
        for (seconds, count) in counts.sorted(by: { $0.key < $1.key }) {
            passed += count
            median = seconds
            if passed >= notifications - passed { break }
        }
        return DelayFigures(
            notifications: notifications, medianSeconds: median, worstSeconds: worst)
    }

    private static func rounded(_ seconds: Int64) -> Int64 {
        switch seconds {
        case ..<600: seconds
        case ..<86_400: seconds - seconds % 60
        default: seconds - seconds % 3600
        }
    }
}

/// How hard a run asked Apple.
package struct CallEffort: Hashable, Sendable, Codable {
    /// The most calls that one endpoint had in any hour of the run, by all processes on the database.
    package struct Peak: Hashable, Sendable, Codable {
        package var bundleID: String
        package var environment: String
        package var endpoint: String
        package var calls: Int
        /// Apple's documented limit of an hour, whatever share of it the settings allow.
        package var limit: Int

        package init(
            bundleID: String, environment: String, endpoint: String, calls: Int, limit: Int
        ) {
            self.bundleID = bundleID
            self.environment = environment
            self.endpoint = endpoint
            self.calls = calls
            self.limit = limit
        }

        /// In thousandths of Apple's limit.
        package var perMille: Int64 {
            let share = (Double(calls) * 1000 / Double(max(1, limit))).rounded()
            return Int64(min(share, 1e12))
        }
    }

    package var peaks: [Peak]
    /// How long the run was kept from asking, by reason.
    package var waitedMilliseconds: [String: Int64]

    package init(peaks: [Peak], waitedMilliseconds: [String: Int64]) {
        self.peaks = peaks
        self.waitedMilliseconds = waitedMilliseconds
    }

    /// All waiting together.
    package var waited: Int64 {
        waitedMilliseconds.values.reduce(0) { sum, more in
            let (total, overflow) = sum.addingReportingOverflow(more)
            return overflow ? .max : total
        }
    }
}
