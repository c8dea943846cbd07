/// A clock of any kind as durations since a fixed start, which is what pacing reckons in.
struct MonotonicTime: Sendable {
    let now: @Sendable () -> Duration
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    init<C: Clock>(_ clock: C, start: C.Instant) where C.Duration == Duration {
        now = { start.duration(to: clock.now) }
        sleep = { until in
            try await clock.sleep(until: start.advanced(by: until), tolerance: .zero)
        }
    }
}
