import ArgumentParser
import Subscriptions
import Testing
import trueup

@Suite struct `Narrowing a command to apps` {
    @Test(arguments: ["com.example.app", "com.example.app/production", "com.example.app/Sandbox"])
    func `takes a bundle, in all environments or in one`(text: String) throws {
        #expect(try RunOptions.parse(["nightly", "--app", text]).scope.app.count == 1)
    }

    @Test(arguments: ["", "/production", "com.example.app/staging", "com.example.app/a/b"])
    func `refuses what is neither`(text: String) {
        #expect(throws: (any Error).self) { try RunOptions.parse(["nightly", "--app", text]) }
    }

    @Test func `ends with 64 for an app that is not configured, and names one`() async throws {
        let place = try await Workplace().initialised()
        let outcome = await place.run("estimate", "nightly", "--app", "com.example.ap")
        #expect(outcome.status == .usage)
        #expect(outcome.diagnostics.contains("did you mean \"com.example.app"))
    }

    @Test func `is listed by trueup apps, as it is taken`() async throws {
        let place = try await Workplace().initialised()
        let listed = await place.run("apps")
        #expect(listed.status == .ok)
        let app = try #require(listed.output.split(separator: "\n").first.map(String.init))
        #expect(await place.run("estimate", "nightly", "--app", app).status == .ok)
        let json = await place.run("apps", "--json").output
        #expect(json.contains("\"app\":\"\(app)\""))
        #expect(json.contains("\"environment\":"))
    }

    @Test(arguments: ["0/4", "5/4", "1", "a/b", "1/20000"])
    func `refuses what is no number of a worker`(text: String) {
        #expect(throws: (any Error).self) {
            try RunOptions.parse(["nightly", "--app-shard", text])
        }
    }

    @Test func `gives each app to one of the workers, whatever their number`() async throws {
        let place = try await Workplace().initialised()
        let all = await place.run("apps").output.split(separator: "\n").map(String.init)
        for count in [1, 2, 3, 7] {
            var listed: [String] = []
            for number in 1...count {
                let outcome = await place.run("apps", "--app-shard", "\(number)/\(count)")
                #expect(outcome.status == .ok)
                listed += outcome.output.split(separator: "\n").map(String.init)
            }
            #expect(listed.sorted() == all.sorted(), "\(count)")
        }
    }

    @Test func `ends with 5 for a worker without apps, and says so`() async throws {
        let place = try await Workplace().initialised()
        for number in 1...2 {
            let shard = "\(number)/2"
            let isIdle = await place.run("apps", "--app-shard", shard).output.isEmpty
            let outcome = await place.run("estimate", "nightly", "--app-shard", shard)
            #expect(outcome.status == (isIdle ? .empty : .ok), "\(outcome.diagnostics)")
            #expect(
                outcome.diagnostics.contains("No app is assigned to worker \(shard)") == isIdle)
        }
    }
}
