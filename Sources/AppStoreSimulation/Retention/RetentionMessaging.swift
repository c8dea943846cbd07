import Synchronization

/// What the app has set up by the Retention Messaging API, in both environments.
final class RetentionMessaging: Sendable {
    private struct State: Sendable {
        var settings = RetentionSettings()
        /// The latest one; there are none in production.
        var test: PerformanceTest?
    }

    private let state: Mutex<State>
    /// Where the settings are kept over a restart; `nil` keeps them nowhere.
    private let file: RetentionFile?

    /// Begins with the settings of an earlier start, if the file has any.
    init(file: RetentionFile?) throws(SimulatorError) {
        self.file = file
        state = Mutex(State(settings: try file?.read() ?? RetentionSettings()))
    }

    /// Changes the settings; nothing is changed if that fails or cannot be kept.
    func change<Value: Sendable>(
        _ body: (inout RetentionSettings) throws(APIFailure) -> Value
    ) throws(APIFailure) -> Value {
        let result = state.withLock { state -> Result<Value, APIFailure> in
            var settings = state.settings
            do throws(APIFailure) {
                let value = try body(&settings)
                guard settings != state.settings else { return .success(value) }
                do throws(SimulatorError) {
                    try file?.write(settings)
                } catch {
                    return .failure(.generalInternal)
                }
                state.settings = settings
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Changes what belongs to one environment.
    func changeContent<Value: Sendable>(
        of environment: SimulatedEnvironment,
        _ body: (inout RetentionContent) throws(APIFailure) -> Value
    ) throws(APIFailure) -> Value {
        try change { settings throws(APIFailure) in try body(&settings[environment]) }
    }

    /// The settings of this moment.
    var settings: RetentionSettings { state.withLock { $0.settings } }

    /// What belongs to one environment at this moment.
    func content(of environment: SimulatedEnvironment) -> RetentionContent {
        settings[environment]
    }

    /// The latest performance test; `nil` before the first one since the start.
    var test: PerformanceTest? { state.withLock { $0.test } }

    /// Begins a performance test unless another one is under way.
    func begin(_ test: PerformanceTest) throws(APIFailure) {
        let isBegun = state.withLock { state in
            guard state.test?.result != .pending else { return false }
            state.test = test
            return true
        }
        guard isBegun else { throw .existingPerformanceTestRun }
    }

    /// Replaces the latest performance test by a later state of the same one.
    func update(_ test: PerformanceTest) {
        // The settings may have been reset, or the app may have begun another test.
        let isLatest = state.withLock { state in
            guard state.test?.id == test.id else { return false }
            state.test = test
            return true
        }
        guard isLatest, test.result == .passed else { return }
        try? change { $0.hasPassedTest = true }
    }

    /// Forgets everything that the app has set up.
    func reset() throws(SimulatorError) {
        do {
            try change { $0 = RetentionSettings() }
        } catch {
            throw .cannotWrite(
                path: file?.path ?? "", reason: "retention messaging stays as it was")
        }
        state.withLock { $0.test = nil }
    }
}
