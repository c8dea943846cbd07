/// A JSON text that is not what Apple sends: which member, and what is wrong with it.
package struct UndecodableModel: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
