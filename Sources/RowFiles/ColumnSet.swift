/// A set of a schema's columns, small enough to be made anew for every line.
package struct ColumnSet: Hashable, Sendable {
    /// The first column is the lowest bit.
    package private(set) var bits: UInt64 = 0

    func contains(_ column: Int) -> Bool { bits & (1 << UInt64(column)) != 0 }

    mutating func insert(_ column: Int) { bits |= 1 << UInt64(column) }

    mutating func formUnion(_ other: ColumnSet) { bits |= other.bits }

    var columns: [Int] { (0..<UInt64.bitWidth).filter(contains) }
}
