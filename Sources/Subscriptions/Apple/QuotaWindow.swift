/// Whose calls are counted together: Apple's limits hold for each app and endpoint.
package struct QuotaAccount: Hashable, Sendable {
    package var app: AppIdentity
    /// As in `calls` of a run's summary, such as `subscription_statuses`.
    package var endpoint: String

    package init(app: AppIdentity, endpoint: String) {
        self.app = app
        self.endpoint = endpoint
    }
}

/// How many calls of one endpoint still fit into the hour that ends now.
///
/// Calls are counted in buckets of five seconds, by the wall clock, because several processes count
/// together. A bucket is dropped only when all of it, and another bucket's time, is more than an
/// hour ago: so rounding never allows a call too many, nor does a call that is on its way for some
/// seconds. That costs a quarter of a percent of the quota.
package struct QuotaWindow: Hashable, Sendable {
    /// The length of a bucket.
    package static let bucketSeconds: Int64 = 5
    private static let hourSeconds: Int64 = 3600

    /// Calls that were booked in one bucket.
    package struct Bucket: Hashable, Sendable {
        /// The UNIX second at which it begins.
        package var start: Int64
        package var calls: Int

        package init(start: Int64, calls: Int) {
            self.start = start
            self.calls = calls
        }
    }

    private let buckets: [Bucket]

    /// A window over what was booked, in any order.
    ///
    /// What is not between `firstCounted` and `lastExpected` does not count.
    package init(_ buckets: [Bucket], at now: Timestamp) {
        let counted = Self.firstCounted(at: now)...Self.lastExpected(at: now)
        self.buckets = buckets.filter { $0.calls > 0 && counted.contains($0.start) }
            .sorted { $0.start < $1.start }
    }

    /// The beginning of the bucket that holds this moment.
    package static func bucket(of time: Timestamp) -> Int64 {
        let second = max(0, time.unixMilliseconds / 1000)
        return second - second % bucketSeconds
    }

    /// The earliest bucket that counts at `now`.
    package static func firstCounted(at now: Timestamp) -> Int64 {
        bucket(of: now) - hourSeconds - bucketSeconds
    }

    /// The latest bucket that can be of the present.
    ///
    /// A later bucket than that of `now` was booked before the clock was set back. Up to an hour
    /// ahead it counts where it is; further ahead its time is not known.
    package static func lastExpected(at now: Timestamp) -> Int64 {
        bucket(of: now) + hourSeconds
    }

    /// How many calls count.
    package var used: Int { buckets.reduce(0) { $0.addingClamped($1.calls) } }

    /// Returns how many calls may be booked now.
    ///
    /// - Parameters:
    ///   - wanted: How many calls are asked for, at least one.
    ///   - limit: The calls of any hour.
    ///   - now: The present.
    /// - Returns: As many calls as fit, up to `wanted`; where none fits, when one will.
    package func grant(_ wanted: Int, limit: Int, at now: Timestamp) -> QuotaGrant {
        let free = max(0, limit - used)
        var grant = QuotaGrant(
            calls: min(max(1, wanted), free), bucket: Self.bucket(of: now), limit: limit,
            nextFree: nil)
        guard free == 0 else {
            grant.usedOfHour = used.addingClamped(grant.calls)
            return grant
        }
        // Stays so only with a limit below one call, which settings refuse.
        grant.nextFree = now.adding(milliseconds: Self.hourSeconds * 1000)
        var left = used
        for booked in buckets {
            left -= booked.calls
            guard left < limit else { continue }
            let second = booked.start + Self.bucketSeconds * 2 + Self.hourSeconds
            grant.nextFree = Timestamp(unixMilliseconds: second * 1000)
            break
        }
        return grant
    }
}

/// Calls that were booked before they are made.
package struct QuotaGrant: Hashable, Sendable {
    /// How many; 0 when the hour is used up.
    package var calls: Int
    /// The bucket in which they count: they are made before it ends, or given back.
    package var bucket: Int64
    /// The calls that any hour may have.
    package var limit: Int
    /// When the next call fits; `nil` where some were granted.
    package var nextFree: Timestamp?
    /// The calls of the hour that ends now, with these; 0 where none were granted.
    package var usedOfHour = 0
    /// The 429 that some process was answered and that still holds; then no calls are granted.
    package var refusal: QuotaRefusal?

    package init(calls: Int, bucket: Int64, limit: Int, nextFree: Timestamp?) {
        self.calls = calls
        self.bucket = bucket
        self.limit = limit
        self.nextFree = nextFree
    }

    /// No calls, because Apple wants none now, whatever the hour has left.
    ///
    /// - Parameters:
    ///   - refusal: What some process was told.
    ///   - limit: The calls of any hour.
    ///   - now: The present.
    package init(during refusal: QuotaRefusal, limit: Int, at now: Timestamp) {
        self.init(
            calls: 0, bucket: QuotaWindow.bucket(of: now), limit: limit,
            nextFree: refusal.resumesAt)
        self.refusal = refusal
    }
}

/// A 429: until when Apple wants no calls of an endpoint, and at which part of the rate they
/// continue.
package struct QuotaRefusal: Hashable, Sendable {
    package var resumesAt: Timestamp
    /// The part of the configured rate, above 0 and at most 1, that is used at `resumesAt`.
    package var rateShare: Double

    package init(resumesAt: Timestamp, rateShare: Double) {
        self.resumesAt = resumesAt
        self.rateShare = rateShare
    }

    /// Apple counts by the hour, and no pause that is kept is longer.
    package static let longestMilliseconds: Int64 = 3_600_000

    /// Whether Apple wants no calls at a moment.
    ///
    /// What would last far longer than an hour was kept before the clock was set back: Apple says
    /// it again where it is still so.
    ///
    /// - Parameter now: The moment.
    /// - Returns: `true` before `resumesAt`.
    package func holds(at now: Timestamp) -> Bool {
        let wait = resumesAt.milliseconds(since: now)
        return wait > 0 && wait < 2 * Self.longestMilliseconds
    }
}

/// How many calls of an endpoint ended in one way.
package struct CallCount: Hashable, Sendable {
    /// `subscription_statuses`, `transaction_history`, `transaction_info`, `notification_history`.
    package var endpoint: String
    /// `ok`, `not_found`, `rate_limited`, `server_error`, `connection`, `undecodable`, `refused`,
    /// `unauthorized`.
    package var result: String
    package var calls: Int

    package init(endpoint: String, result: String, calls: Int) {
        self.endpoint = endpoint
        self.result = result
        self.calls = calls
    }
}
