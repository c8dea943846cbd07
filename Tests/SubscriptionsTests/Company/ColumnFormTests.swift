import Subscriptions
import Testing

@Suite struct `A column's form` {
    private static let noon = FieldValue.time(Timestamp(unixMilliseconds: 1_790_000_000_000))

    @Test(arguments: [
        (ColumnForm.text, "abc", FieldValue.text("abc")), (.integer, "42", .text("42")),
        (.integer, "42.0", .text("42")),
        (.integer, "18446744073709551615", .text("18446744073709551615")),
        (
            .uuid, "6E5F0D3A-9B1C-4C2E-8F00-0123456789AB",
            .text("6e5f0d3a-9b1c-4c2e-8f00-0123456789ab")
        ),
        (
            .uuid, "6e5f0d3a9b1c4c2e8f000123456789ab",
            .text("6e5f0d3a-9b1c-4c2e-8f00-0123456789ab")
        ),
    ])
    func `reads texts and ids`(form: ColumnForm, text: String, value: FieldValue) {
        #expect(form.value(of: text, as: .text) == value)
    }

    @Test(arguments: [
        (ColumnForm.milliseconds, "1790000000000"), (.seconds, "1790000000"),
        (.seconds, "1790000000.0"), (.timestamptz, "2026-09-21T14:13:20Z"),
        (.timestamptz, "2026-09-21 14:13:20+00"), (.timestamptz, "2026-09-21 16:13:20.000+0200"),
        (.timestamptz, "2026-09-21 16:13:20+02:00"),
        (.timestamp(LocalClock(minutesEast: 0)), "2026-09-21 14:13:20"),
        (.timestamp(LocalClock(minutesEast: 120)), "2026-09-21 16:13:20.000"),
        (.timestamp(LocalClock(minutesEast: -90)), "2026-09-21T12:43:20"),
    ])
    func `reads times`(form: ColumnForm, text: String) {
        #expect(form.value(of: text, as: .time) == Self.noon)
    }

    @Test(arguments: [
        (ColumnForm.integer, FieldForm.integer, "four"), (.integer, .integer, "1.5"),
        (.boolean, .integer, "yes!"), (.uuid, .text, "123"), (.seconds, .time, "2026-09-21"),
        (.seconds, .time, "9223372036854775807"), (.timestamptz, .time, "2026-09-21 14:13:20"),
        (.timestamp(LocalClock(minutesEast: 0)), .time, "2026-09-21 14:13:20+00"),
        (.timestamptz, .time, "infinity"), (.milliseconds, .time, "soon"),
    ])
    func `does not guess`(form: ColumnForm, ours: FieldForm, text: String) {
        #expect(form.value(of: text, as: ours) == nil)
    }

    @Test func `keeps NULL and empty text apart from values`() {
        #expect(ColumnForm.text.value(of: nil, as: .text) == .null)
        #expect(ColumnForm.text.value(of: "", as: .text) == .text(""))
        #expect(ColumnForm.timestamptz.value(of: "", as: .time) == .null)
        #expect(ColumnForm.seconds.literal(.null) == .null)
    }

    @Test func `writes what it reads`() {
        #expect(ColumnForm.milliseconds.literal(Self.noon) == .integer(1_790_000_000_000))
        #expect(ColumnForm.seconds.literal(Self.noon) == .integer(1_790_000_000))
        #expect(ColumnForm.boolean.literal(.integer(1)) == .boolean(true))
        #expect(ColumnForm.boolean.literal(.integer(2)) == nil)
        #expect(ColumnForm.integer.literal(.text("77")) == .integer(77))
        #expect(ColumnForm.uuid.literal(.text("x")) == nil)
        #expect(
            ColumnForm.timestamp(LocalClock(minutesEast: 120)).literal(Self.noon)
                == .text("2026-09-21T16:13:20.000"))
    }

    @Test(arguments: [
        "2026-09-21T14:13:20Z", "2026-09-21 14:13:20+00", "2026-09-21 14:13:20.000+00:00",
        "2026-09-21 14:13:20.0+0000", "2026-09-21T14:13:20.000Z",
    ])
    func `spells times as the row does`(text: String) {
        let spelling = TimeSpelling(of: text)
        #expect(ColumnForm.timestamptz.literal(Self.noon, spelling: spelling) == .text(text))
    }

    @Test func `never loses milliseconds for the sake of the spelling`() {
        let time = FieldValue.time(Timestamp(unixMilliseconds: 1_790_000_000_123))
        let spelling = TimeSpelling(of: "2026-09-21 00:00:00+00")
        #expect(
            ColumnForm.timestamptz.literal(time, spelling: spelling)
                == .text("2026-09-21 14:13:20.123+00"))
    }
}
