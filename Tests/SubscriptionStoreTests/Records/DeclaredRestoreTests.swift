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
        let text = refusal(of: "restored-1", by: store)
        #expect(text.contains("is not a run but a declaration"))
        #expect(text.contains("the disk was lost"))
        #expect(text.contains("entry 1 of the ledger"))
        #expect(refusal(of: "restored-2", by: store).contains("There is no run restored-2"))
        // All that takes the name of a run says the same, an undo and a list of changes as well.
        #expect(refusal { try store.forEachUndo(ofRun: "restored-1") { _ in } } == text)
        #expect(refusal { _ = try store.number(ofRun: "restored-1") } == text)
        #expect(try store.number(ofRun: "restored-2") == nil)
    }

    /// Why there is no record of a run.
    private func refusal(of runID: String, by store: SQLiteStore) -> String {
        refusal { _ = try store.runRecord(ofRun: runID) }
    }

    private func refusal(_ body: () throws -> Void) -> String {
        do {
            try body()
            return ""
        } catch {
            return "\(error)"
        }
    }
}
