import ReconciliationRun
package import Subscriptions

/// Which of several workers an app falls to.
///
/// Every worker gives each app a weight, made of both names alone, and the highest takes it. So the
/// answer is the same on every machine and in every version; an app that is added or taken away moves
/// no other; and a worker that is added takes apps over, but moves none between the others: the books
/// of an app stay where they are.
package enum AppShard {
    /// More workers than this are a typing error.
    static let mostWorkers = 10_000

    /// - Parameters:
    ///   - app: Any app.
    ///   - count: How many workers there are, at least one.
    /// - Returns: From 1 to `count`.
    package static func number(of app: AppIdentity, among count: Int) -> Int {
        let name = app.name
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        var chosen = 1
        var highest: UInt64 = 0
        for number in 1...max(1, count) {
            let weight = mixed(hash ^ mixed(UInt64(number)))
            if number == 1 || weight > highest { (chosen, highest) = (number, weight) }
        }
        return chosen
    }

    /// Every bit of the result depends on every bit of the value (the finalizer of SplitMix64).
    private static func mixed(_ value: UInt64) -> UInt64 {
        var bits = value &+ 0x9e37_79b9_7f4a_7c15
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }
}

extension Narrowing.Shard {
    /// Whether an app falls to this worker.
    func includes(app: AppIdentity) -> Bool { AppShard.number(of: app, among: count) == number }

    /// As it is given.
    var text: String { "\(number)/\(count)" }
}
