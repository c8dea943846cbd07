/// Changes finished answers: their lists, members and signatures.
struct AnswerRewriter {
    /// The lists of the API, whose order Apple does not guarantee.
    private static let lists: Set<String> = [
        "data", "lastTransactions", "signedTransactions", "notificationHistory",
    ]
    /// In a value: a moment in seconds from now, written as milliseconds of UNIX time.
    static let secondsFromNow = "seconds_from_now"

    /// Signs a payload.
    let sign: ([UInt8]) -> [UInt8]?
    let breaker: (BrokenJWS, [UInt8]) -> [UInt8]
    let nowMilliseconds: Int64

    /// Returns the changed answer; an answer that is not JSON is not changed.
    func apply(_ rewrite: AnswerRewrite, to answer: ServiceAnswer) -> ServiceAnswer {
        guard let tree = JSONTree(answer.body) else { return answer }
        var answer = answer
        switch rewrite {
        case .members(let changes):
            answer.body =
                changes.reduce(tree) { tree, change in
                    edited(tree, change.path.steps[...], change.value.map(resolved))
                }.bytes
        case .order(let order): answer.body = ordered(tree, order).bytes
        case .brokenJWS(let form, let names):
            answer.body = broken(tree, form: form, names: names, name: "").bytes
        }
        return answer
    }

    /// Returns the tree with the member at the end of the steps set, or removed if `value` is `nil`.
    private func edited(
        _ tree: JSONTree, _ steps: ArraySlice<MemberPath.Step>, _ value: JSONTree?
    ) -> JSONTree {
        guard let step = steps.first else { return tree }
        switch tree {
        case .object(let members): return edited(members, steps, value)
        case .array(let elements):
            guard case .index(let index) = step else {
                return .array(elements.map { edited($0, steps, value) })
            }
            guard elements.indices.contains(index) else { return tree }
            var elements = elements
            if steps.count > 1 {
                elements[index] = edited(elements[index], steps.dropFirst(), value)
            } else if let value {
                elements[index] = value
            } else {
                elements.remove(at: index)
            }
            return .array(elements)
        case .string(let text):
            guard let payload = Self.payload(of: text) else { return tree }
            let changed = edited(payload, steps, value)
            guard changed != payload, let jws = sign(changed.bytes) else { return tree }
            return .string(String(decoding: jws, as: UTF8.self))
        case .number, .bool, .null: return tree
        }
    }

    private func edited(
        _ members: [JSONTree.Member], _ steps: ArraySlice<MemberPath.Step>, _ value: JSONTree?
    ) -> JSONTree {
        var steps = steps
        let isDeep = steps.first == .anyDepth
        let whole = steps
        if isDeep { steps = steps.dropFirst() }
        let isLast = steps.count == 1
        var changed: [JSONTree.Member] = []
        var isFound = false
        for member in members {
            var member = member
            let matches = steps.first == .anyMember || steps.first == .name(member.name)
            isFound = isFound || matches
            if matches, isLast {
                guard let value else { continue }
                member.value = value
            } else {
                if matches { member.value = edited(member.value, steps.dropFirst(), value) }
                if isDeep { member.value = edited(member.value, whole, value) }
            }
            changed.append(member)
        }
        if !isFound, isLast, !isDeep, let value, case .name(let name) = steps.first {
            changed.append(JSONTree.Member(name: name, value: value))
        }
        return .object(changed)
    }

    private func resolved(_ value: JSONTree) -> JSONTree {
        guard case .object(let members) = value, members.count == 1,
            case .number(let text)? = value[Self.secondsFromNow], let seconds = Double(text),
            abs(seconds) < 1e11
        else { return value }
        return .number(String(nowMilliseconds + Int64(seconds * 1000)))
    }

    private func ordered(_ tree: JSONTree, _ order: ListOrder) -> JSONTree {
        switch tree {
        case .object(let members):
            .object(
                members.map { member in
                    var value = ordered(member.value, order)
                    if case .array(let elements) = value, Self.lists.contains(member.name) {
                        value = .array(order.applied(to: elements))
                    }
                    return JSONTree.Member(name: member.name, value: value)
                })
        case .array(let elements): .array(elements.map { ordered($0, order) })
        default: tree
        }
    }

    private func broken(
        _ tree: JSONTree, form: BrokenJWS, names: [String], name: String
    ) -> JSONTree {
        switch tree {
        case .object(let members):
            return .object(
                members.map { member in
                    JSONTree.Member(
                        name: member.name,
                        value: broken(member.value, form: form, names: names, name: member.name))
                })
        case .array(let elements):
            return .array(
                elements.map { broken($0, form: form, names: names, name: name) })
        case .string(let text):
            guard let payload = Self.payload(of: text) else { return tree }
            if names.isEmpty || names.contains(name) {
                return .string(String(decoding: breaker(form, Array(text.utf8)), as: UTF8.self))
            }
            // A notification's payload contains further JWS.
            let changed = broken(payload, form: form, names: names, name: name)
            guard changed != payload, let jws = sign(changed.bytes) else { return tree }
            return .string(String(decoding: jws, as: UTF8.self))
        case .number, .bool, .null: return tree
        }
    }

    /// The payload of a compact JWS, or `nil` for another text.
    private static func payload(of text: String) -> JSONTree? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]),
            JSONTree(header)?["alg"] != nil, let payload = Base64URL.decode(parts[1])
        else { return nil }
        return JSONTree(payload)
    }
}
