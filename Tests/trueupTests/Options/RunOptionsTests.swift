import ArgumentParser
import Testing
import trueup

@Suite struct `Run options` {
    @Test func `state every narrowing in words`() throws {
        let options = try RunOptions.parse([
            "nightly", "--only", "expiry", "--ids-file", "ids.txt", "--limit", "3", "--shard",
            "2/4",
        ])
        #expect(
            options.filtersInWords == ["only expiry", "ids-file ids.txt", "limit 3", "shard 2/4"])
    }

    @Test func `take another clock or deadline for no narrowing`() throws {
        let options = try RunOptions.parse([
            "nightly", "--now", "2026-11-20T03:00:00Z", "--max-duration", "90m",
        ])
        #expect(options.filtersInWords == [])
    }
}
