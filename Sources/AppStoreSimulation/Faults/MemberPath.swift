/// Where members stand in an answer: names with points between them.
///
/// Lists are walked through, every entry, unless a number names one; `*` is any member, `**` any
/// depth. A path leads into a signed payload as if the JWS were its payload:
/// `data.lastTransactions.signedTransactionInfo.price`.
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
