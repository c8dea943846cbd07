import Subscriptions

/// A drawing of one number over the nights, with the same in words.
struct NightBars {
    /// What is counted, as the caption names it.
    let title: String
    /// The oldest first; `nil` where nothing ran or nothing was counted.
    let values: [(day: String, value: Int64?)]
    /// The day of the first run that is known; days before it have no mark, as nothing is missing there.
    let first: String
    /// How a value is written.
    let text: (Int64) -> String

    private static let slot = 10
    private static let height = 48

    /// Adds the drawing; `number` tells those of the page apart.
    func append(number: Int, to page: inout Markup) {
        let highest = values.compactMap(\.value).max() ?? 0
        page.element("figure") { figure in
            figure.element("figcaption") { caption in
                caption.element("b", title)
                caption.text(": " + words(highest))
            }
            let width = values.count * Self.slot
            figure.element(
                "svg",
                [
                    .init("viewBox", "0 0 \(width) \(Self.height + 4)"), .init("role", "img"),
                    .init("preserveAspectRatio", "none"),
                    .init("aria-labelledby", "t\(number) d\(number)"),
                ]
            ) { drawing in
                drawing.element("title", [.init("id", "t\(number)")], title)
                drawing.element("desc", [.init("id", "d\(number)")], description)
                for (index, night) in values.enumerated() where night.day >= first {
                    append(night.value, at: index, of: highest, to: &drawing)
                }
                drawing.shape(
                    "line",
                    [
                        .named("base"), .init("x1", "0"), .init("y1", "\(Self.height)"),
                        .init("x2", "\(width)"), .init("y2", "\(Self.height)"),
                    ])
            }
        }
        page.lineFeed()
    }

    /// A bar; where there is no value a short mark below the line, so that it is no zero.
    private func append(
        _ value: Int64?, at index: Int, of highest: Int64, to drawing: inout Markup
    ) {
        let left = index * Self.slot + 1
        guard let value else {
            drawing.shape(
                "line",
                [
                    .named("gap"), .init("x1", "\(left)"), .init("y1", "\(Self.height + 3)"),
                    .init("x2", "\(left + Self.slot - 2)"), .init("y2", "\(Self.height + 3)"),
                ])
            return
        }
        guard value > 0, highest > 0 else { return }
        let share = Double(value) / Double(highest)
        let tall = max(1, Int((share * Double(Self.height - 2)).rounded()))
        drawing.shape(
            "rect",
            [
                .named(index == values.count - 1 ? "last" : "bar"), .init("x", "\(left)"),
                .init("y", "\(Self.height - tall)"), .init("width", "\(Self.slot - 2)"),
                .init("height", "\(tall)"),
            ])
    }

    private func words(_ highest: Int64) -> String {
        let now = values.last?.value.map(text) ?? "not counted"
        guard let peak = values.last(where: { $0.value == highest }), highest > 0 else {
            return now + " this time"
        }
        return "\(now) this time; most \(text(highest)) on \(peak.day)"
    }

    /// Every value, for those who do not see the drawing.
    private var description: String {
        let held = values.filter { $0.day >= first }
        let before = held.count < values.count ? ["no run before \(first)"] : []
        return (before + held.map { "\($0.day): \($0.value.map(text) ?? "not counted")" })
            .joined(separator: "; ")
    }
}
