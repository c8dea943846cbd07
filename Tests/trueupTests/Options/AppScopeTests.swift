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
}
