/// The members of one JSON object, taken by name, each once.
///
/// Senders keep an order, and readers ask in it, so the search goes on behind the member taken last:
/// a look-up is nearly always one comparison.
package struct JSONMembers: Sendable {
    private let document: JSONDocument
    /// Where each member's name stands among the nodes; its value is the node behind.
    private var names: [Int32] = []
    private var isTaken: [Bool] = []
    /// The names that were taken, among the nodes.
    private var taken: [Int32] = []
    private var next = 0

    /// `nil` when the value is not an object.
    package init?(_ object: JSONValue) {
        guard object.isObject else { return nil }
        document = object.document
        let nodes = document.nodes
        var name = object.index + 1
        let end = Int(nodes[object.index].next)
        while name < end {
            names.append(Int32(truncatingIfNeeded: name))
            name = Int(nodes[name + 1].next)
        }
        isTaken = [Bool](repeating: false, count: names.count)
        taken.reserveCapacity(names.count)
    }

    /// The first member of this name that was not taken; `nil` when there is none.
    ///
    /// - Parameter name: The name, escapes resolved.
    /// - Returns: Its value.
    package mutating func take(_ name: String) -> JSONValue? {
        for offset in names.indices {
            var index = next + offset
            if index >= names.count { index -= names.count }
            let node = Int(names[index])
            guard !isTaken[index], document.isText(name, at: node) else { continue }
            isTaken[index] = true
            taken.append(names[index])
            next = index + 1 == names.count ? 0 : index + 1
            return JSONValue(document: document, index: node + 1)
        }
        return nil
    }

    /// The names of the members that were not taken, in their order.
    package var untakenNames: [JSONValue] {
        names.indices.filter { !isTaken[$0] }
            .map { JSONValue(document: document, index: Int(names[$0])) }
    }

    /// Whether a member of this name was taken.
    package func hasTaken(_ name: String) -> Bool {
        taken.contains { document.isText(name, at: Int($0)) }
    }

    /// Takes every member that is left.
    package mutating func takeAll() {
        isTaken = [Bool](repeating: true, count: names.count)
    }
}
