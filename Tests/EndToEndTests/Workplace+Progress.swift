import Foundation
import TestSupport
import Testing

extension Workplace {
    /// What `status` says of the running job.
    func runningJob() throws -> [String: Any]? {
        let status = try run("status", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(status.output.utf8))
        return (object as? [String: Any])?["running"] as? [String: Any]
    }

    /// Waits until the job that runs says so of itself; what it says then.
    @discardableResult
    func until(
        _ run: BuiltExecutable.Running, sourceLocation: SourceLocation = #_sourceLocation,
        says isSo: ([String: Any]) -> Bool
    ) throws -> [String: Any] {
        let end = ContinuousClock.now + .seconds(180)
        while run.process.isRunning, ContinuousClock.now < end {
            if let told = try runningJob(), isSo(told) { return told }
            usleep(50_000)
        }
        let how = run.process.isRunning ? "runs on" : "has ended"
        Issue.record("the job \(how) without having said that", sourceLocation: sourceLocation)
        return [:]
    }

    /// Waits until the job has come so far.
    func untilRowsAreDone(
        _ run: BuiltExecutable.Running, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try until(run, sourceLocation: sourceLocation) { $0["done"] as? Int ?? 0 > 0 }
    }
}
