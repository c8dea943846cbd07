/// One limit of a job's `guards`: its name, where it stands and what it means.
///
/// Job files, kept plans and the documentation have every limit from here.
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
