/// Every limit of this module.
///
/// A real transaction is 5 KB, a notification with its two nested payloads 25 KB, and the header
/// with three certificates 4.5 KB: the limits leave room and keep hostile input cheap.
package enum JWSLimits {
    package static let compactBytes = 1_048_576
    package static let headerSegmentBytes = 65_536
    /// Containers inside containers in any JSON text.
    package static let jsonDepth = 64
    /// Distinct verified leaf headers that are kept; Apple uses one or two at a time.
    package static let cachedLeaves = 32
    package static let configuredRoots = 64
}
