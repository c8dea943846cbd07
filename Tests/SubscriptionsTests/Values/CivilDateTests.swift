import Subscriptions
import Testing

@Suite struct `A civil date` {
    static let known: [(days: Int64, year: Int64, month: Int64, day: Int64)] = [
        (0, 1970, 1, 1), (-1, 1969, 12, 31), (59, 1970, 3, 1), (789, 1972, 2, 29),
        (11_016, 2000, 2, 29), (-719_528, 0, 1, 1), (20_777, 2026, 11, 20),
        (2_932_896, 9999, 12, 31),
    ]

    @Test(arguments: known)
    func `counts days since 1970 in both directions`(
        days: Int64, year: Int64, month: Int64, day: Int64
    ) throws {
        let date = try #require(CivilDate(year: year, month: month, day: day))
        #expect(date.daysSince1970 == days)
        #expect(CivilDate(daysSince1970: days) == date)
    }

    @Test(
        arguments: [
            (2026, 2, 29), (1900, 2, 29), (2026, 4, 31), (2026, 0, 1), (2026, 13, 1), (2026, 1, 0),
        ] as [(Int64, Int64, Int64)])
    func `refuses dates that do not exist`(year: Int64, month: Int64, day: Int64) {
        #expect(CivilDate(year: year, month: month, day: day) == nil)
    }

    @Test func `rounds divisions down`() {
        #expect(Int64(-1).floorDivided(by: 1000) == (-1, 999))
        #expect(Int64(-1000).floorDivided(by: 1000) == (-1, 0))
        #expect(Int64(1999).floorDivided(by: 1000) == (1, 999))
    }
}
