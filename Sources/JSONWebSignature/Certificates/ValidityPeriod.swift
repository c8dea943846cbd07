import FoundationEssentials
import X509

/// The time during which every certificate of a chain is valid, in whole UNIX seconds.
///
/// RFC 5280 counts in seconds, both ends included (section 4.1.2.5).
struct ValidityPeriod: Hashable, Sendable {
    let firstSecond: Int64
    let lastSecond: Int64

    init(of chain: some Sequence<Certificate>) {
        var first = Int64.min
        var last = Int64.max
        for certificate in chain {
            first = max(first, Self.seconds(certificate.notValidBefore))
            last = min(last, Self.seconds(certificate.notValidAfter))
        }
        firstSecond = first
        lastSecond = last
    }

    func contains(unixMilliseconds: Int64) -> Bool {
        let (quotient, remainder) = unixMilliseconds.quotientAndRemainder(dividingBy: 1000)
        let second = remainder < 0 ? quotient - 1 : quotient
        return firstSecond <= second && second <= lastSecond
    }

    private static func seconds(_ date: Date) -> Int64 {
        Int64(date.timeIntervalSince1970.rounded(.down))
    }
}
