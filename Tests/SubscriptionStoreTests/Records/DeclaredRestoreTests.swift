import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `The name of a declared restore` {
    @Test func `is said to be no run, and where the declaration stands`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let run = Night.header("restored-1")
        _ = try await store.declareRestored(
            [
                LedgerBreak(
                    keptEntry: 0, keptHash: LedgerEntry.firstPreviousHash, lostEntry: 3,
                    lostHash: String(repeating: "ab", count: 32))
            ], reason: "the disk was lost", manifest: String(repeating: "cd", count: 32), run: run,
            at: run.started)
        var text = ""
        do {
            _ = try store.runRecord(ofRun: "restored-1")
        } catch StoreError.unavailable(let said) {
            text = said
        }
        #expect(text.contains("declared at"))
        #expect(text.contains("the disk was lost"))
        #expect(text.contains("entry 1 of the ledger"))
        #expect(throws: StoreError.self) { try store.runRecord(ofRun: "restored-2") }
    }
}
