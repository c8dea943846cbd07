/// The limits of a job's `guards`, checked on the whole plan before the first write; the initial
/// values are the defaults.
package struct GuardLimits: Hashable, Sendable {
    package var maxChanges = 500
    /// Of the rows in scope, 0…1.
    package var maxChangeShare = 0.05
    /// Fewer rows than this (changed, not found, lost from the table …) never stop a run.
    package var minChanges = 5
    package var maxNotFoundShare = 0.01
    package var maxVerificationFailures = 10
    /// Of the rows in scope: access ended for them all, or given to them all.
    package var maxSameDirectionShare = 0.3
    /// Of the rows that the table had at the last run.
    package var maxShrinkShare = 0.5
    /// Rows whose dates look wrong by a fault of our own; `nil` for no limit.
    package var maxOwnFault: Int? = 5
    /// Of the rows in scope: of no configured app, or in flight.
    package var maxExcludedShare = 0.05

    /// Every limit, in the order of the documentation.
    package static let all: [GuardLimit] = [
        GuardLimit("max_changes", .count(\.maxChanges), "the plan changes more rows than this"),
        GuardLimit(
            "max_change_share", .share(\.maxChangeShare),
            "the plan changes more of the rows than this"),
        GuardLimit(
            "min_changes", .count(\.minChanges), "never stop a run for fewer rows than this"),
        GuardLimit(
            "max_not_found_share", .share(\.maxNotFoundShare),
            "Apple does not find more of the rows than this"),
        GuardLimit(
            "max_verification_failures", .count(\.maxVerificationFailures),
            "more answers than this do not verify"),
        GuardLimit(
            "max_same_direction_share", .share(\.maxSameDirectionShare),
            "the plan ends or grants access for more of the rows than this"),
        GuardLimit(
            "max_shrink_share", .share(\.maxShrinkShare),
            "the table lost more than this since the last run"),
        GuardLimit(
            "max_own_fault", .countOrNone(\.maxOwnFault),
            "more rows than this have dates off by one time zone, or by a factor of 1000; none = no limit"
        ),
        GuardLimit(
            "max_excluded_share", .share(\.maxExcludedShare),
            "more of the rows than this belong to no configured app, or are in flight"),
    ]

    package init() {}
}

/// The definition of one limit: its name, its property and its meaning.
///
/// Job files, stored plans and the documentation take the limits from here.
package struct GuardLimit: Sendable {
    package enum Place: Sendable {
        case count(any WritableKeyPath<GuardLimits, Int> & Sendable)
        /// `nil` for no limit, written `none`.
        case countOrNone(any WritableKeyPath<GuardLimits, Int?> & Sendable)
        /// 0…1.
        case share(any WritableKeyPath<GuardLimits, Double> & Sendable)
    }

    package let name: String
    package let place: Place
    package let meaning: String

    init(_ name: String, _ place: Place, _ meaning: String) {
        self.name = name
        self.place = place
        self.meaning = meaning
    }
}

/// The limits in one line of text, as they are stored with a plan.
extension GuardLimits {
    /// For example `max_changes=500 max_change_share=0.05 …`; `none` is not a limit.
    package var text: String {
        GuardLimits.all.map { limit in
            switch limit.place {
            case .count(let property): "\(limit.name)=\(self[keyPath: property])"
            case .countOrNone(let property):
                "\(limit.name)=" + (self[keyPath: property].map { String($0) } ?? "none")
            case .share(let property): "\(limit.name)=\(self[keyPath: property])"
            }
        }.joined(separator: " ")
    }

    /// Reads the same form; a limit that is not named has its default.
    package init(text: String) {
        self.init()
        for part in text.split(separator: " ") {
            let words = part.split(separator: "=", maxSplits: 1)
            guard words.count == 2,
                let limit = GuardLimits.all.first(where: { $0.name == words[0] })
            else { continue }
            let (whole, share) = (Int(words[1]), Double(words[1]))
            switch limit.place {
            case .count(let property): self[keyPath: property] = whole ?? self[keyPath: property]
            case .countOrNone(let property):
                self[keyPath: property] =
                    words[1] == "none" ? nil : whole ?? self[keyPath: property]
            case .share(let property): self[keyPath: property] = share ?? self[keyPath: property]
            }
        }
    }
}
