/// A change of a finished answer.
enum AnswerRewrite: Sendable {
    /// Members are set or removed; signed payloads are signed again.
    case members([MemberChange])
    case order(ListOrder)
    /// Every JWS in a member with one of these names, or every JWS if there are none, is made invalid.
    case brokenJWS(BrokenJWS, names: [String])
}

/// A new value of one member.
struct MemberChange: Sendable {
    let path: MemberPath
    /// `nil` removes the member.
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

/// Which members of an answer are meant: names separated by points.
///
/// Every element of a list is meant, unless a number names one; `*` is any member, `**` any depth. A
/// path can lead into a signed payload: `data.lastTransactions.signedTransactionInfo.price`.
struct MemberPath: Sendable {
    enum Step: Hashable, Sendable {
        case name(String)
        case index(Int)
        case anyMember
        case anyDepth
    }

    let steps: [Step]

    init(_ text: String) throws(SimulatorError) {
        let words = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard !words.contains(""), words.last != "**" else {
            throw .badOption(
                "The path \"\(text)\" is not a list of member names with points between them.")
        }
        steps = words.map { word in
            switch word {
            case "*": .anyMember
            case "**": .anyDepth
            default: Int(word).map { .index($0) } ?? .name(word)
            }
        }
    }
}
