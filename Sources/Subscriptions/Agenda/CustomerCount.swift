/// Counts distinct customers without keeping more than a fixed number of them.
///
/// Up to `capacity` distinct customers the count is exact. Beyond that only those are kept whose
/// number (64 bits that follow from the id) is small: half of them, then a quarter, and so on. The
/// count is then the kept ones times that factor; its standard error is about 1 in the square root of half
/// the capacity, 0.3 % by default.
package struct CustomerCount: Hashable, Sendable {
    private let capacity: Int
    private var kept: Set<UInt64> = []
    private var halvings = 0
    /// Rows without a customer: each counts as one.
    private var unnamed = 0

    package init(capacity: Int = 1 << 18) { self.capacity = max(1, capacity) }

    /// Adds a row by its customer, or else by its Apple Account, or else as a customer of its own.
    package mutating func add(_ customerID: String?, account: AccountDigest? = nil) {
        let number: UInt64
        if let customerID, !customerID.isEmpty {
            var digest = ValuesDigest()
            digest.add(customerID)
            number = Self.mixed(digest.bits)
        } else if let account {
            number = Self.mixed(account.bits)
        } else {
            unnamed += 1
            return
        }
        guard number <= UInt64.max >> halvings else { return }
        kept.insert(number)
        while kept.count > capacity, halvings < 32 {
            halvings += 1
            let bound = UInt64.max >> halvings
            kept = kept.filter { $0 <= bound }
        }
    }

    package var count: Int { (kept.count << halvings) + unnamed }

    package var isExact: Bool { halvings == 0 }

    /// SplitMix64's finishing mix, so that similar ids get unrelated numbers.
    private static func mixed(_ bits: UInt64) -> UInt64 {
        var z = bits &+ 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
