/// What is changed in a finished answer.
enum AnswerRewrite: Sendable {
    /// Members are set or left out, signed ones under a new signature.
    case members([MemberChange])
    case order(ListOrder)
    /// Every JWS under one of these names, or every one at all, is broken in one way.
    case brokenJWS(BrokenJWS, names: [String])
}

/// One member, and what becomes of it.
struct MemberChange: Sendable {
    let path: MemberPath
    /// `nil` leaves the member out.
    let value: JSONTree?
}

/// The order of a list's entries.
enum ListOrder: String, Sendable, CaseIterable {
    case reversed
    case shuffled
    /// Every entry twice.
    case doubled

    func applied<Element>(to elements: [Element]) -> [Element] {
        switch self {
        case .reversed: elements.reversed()
        case .shuffled: elements.shuffled()
        case .doubled: elements.flatMap { [$0, $0] }
        }
    }
}
