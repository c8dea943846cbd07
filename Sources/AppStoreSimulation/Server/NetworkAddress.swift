import Glibc

/// An IP address in numbers.
struct NetworkAddress: Hashable, Sendable {
    static let loopback = NetworkAddress(text: "127.0.0.1", bytes: [127, 0, 0, 1])

    let text: String
    /// Four of IPv4, sixteen of IPv6.
    let bytes: [UInt8]

    private init(text: String, bytes: [UInt8]) {
        self.text = text
        self.bytes = bytes
    }

    /// `nil` for anything but an address, names included.
    init?(_ text: String) {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            let isRead = unsafe bytes.withUnsafeMutableBytes {
                unsafe inet_pton(family, text, $0.baseAddress) == 1
            }
            if isRead {
                self.init(text: text, bytes: bytes)
                return
            }
        }
        return nil
    }

    /// Whether it stands for every address of the machine.
    var isWildcard: Bool { bytes.allSatisfy { $0 == 0 } }

    /// As it stands in a URL where clients on this machine can reach it.
    var urlHost: String {
        guard !isWildcard else { return bytes.count == 4 ? "127.0.0.1" : "[::1]" }
        return bytes.count == 4 ? text : "[\(text)]"
    }
}
