import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about rows that the company deletes.
@Suite struct `The contract of rows that are gone` {
    /// A night that judged rows "1" and "2", after which the company deleted "2".
    private func placeWithoutSecond(_ store: BooksPlace) async throws -> SQLitePlace {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        let night = try await Night(place, "run-1")
        for id in ["1", "2"] { try await night.stage(judged(id)) }
        try await night.conclude(acceptedRows: 2)
        try place.remove(key("2"))
        return place
    }

    private func judged(_ id: String) -> RowOutcome {
        var result = outcome(id, .match)
        result.examined = .statement
        result.askedBecause = .never
        result.check = RowCheck(
            signedDate: Timestamp(unixMilliseconds: 2000), clock: nil, isLasting: true,
            values: ValuesDigest(of: subscription(id)))
        return result
    }

    /// The rows that have a check once the deleted one was inserted again.
    private func known(_ place: SQLitePlace) async throws -> [String] {
        try place.hold(subscription("2"))
        let notes = try await place.store.notes(about: ["1", "2"].map(key))
        return notes.filter { $0.value.check != nil }.keys.map(\.originalTransactionID).sorted()
    }

    @Test(arguments: BooksPlace.allCases)
    func `their checks go with a night whose guard accepted the table's size`(
        store: BooksPlace
    ) async throws {
        let place = try await placeWithoutSecond(store)
        try await Night(place, "run-2", after: 24).conclude(acceptedRows: 1)
        #expect(try await known(place) == ["1"])
    }

    @Test(arguments: BooksPlace.allCases)
    func `their checks stay where the guard objected`(store: BooksPlace) async throws {
        let place = try await placeWithoutSecond(store)
        try await Night(place, "run-2", after: 24).conclude()
        #expect(try await known(place) == ["1", "2"])
    }

    @Test(
        arguments: BooksPlace.allCases,
        ["check", "limit 1", "app com.example.other/production"])
    func `their checks stay after a run that is no night of their app`(
        store: BooksPlace, kind: String
    ) async throws {
        let place = try await placeWithoutSecond(store)
        var header = Night.header("run-2", after: 24)
        switch kind {
        case "check": header.mode = .check
        case "limit 1": header.filters = [kind]
        default:
            header.filters = [kind]
            header.apps = [AppIdentity(bundleID: "com.example.other", environment: .production)]
        }
        try await Night(place, header).conclude(acceptedRows: 1)
        #expect(try await known(place) == ["1", "2"])
    }
}
