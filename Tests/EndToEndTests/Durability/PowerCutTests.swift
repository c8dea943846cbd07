import Foundation
import TestSupport
import Testing

/// What is committed survives a power cut: each commit is synced before anybody is told of it.
@Suite struct `A power cut` {
    @Test(.timeLimit(.minutes(30)))
    func `takes back nothing that was committed, for every commit is synced`() throws {
        let simulator = try RunningSimulator([
            "--customers", "60", "--drift", "0.5", "--seed", "7",
        ])
        let place = try Workplace(on: simulator)
        let steps = try DurableSteps()
        let folder = place.folder.url
        let table = try #require(simulator.ready.tableFile)
        for arguments in [["init"], ["import", table], ["run", "nightly"]] {
            let counted = try steps.commits(of: arguments, in: folder)
            #expect([0, 2].contains(counted.result.status), "\(counted.result.errors)")
            #expect(counted.commits > 0, "\(arguments)")
            #expect(counted.syncs >= counted.commits, "\(arguments)")
        }
    }
}
