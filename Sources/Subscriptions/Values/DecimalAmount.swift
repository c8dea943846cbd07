/// An amount of money for people, with as many decimals as its currency has.
///
/// Yen have none, Kuwaiti dinars three, nearly all others two. It is rounded to the smallest unit,
/// a half away from zero; the files for machines keep the milliunits. Source: ISO 4217, list of
/// currencies with their minor units.
package struct DecimalAmount: Hashable, Sendable {
    package let isNegative: Bool
    package let units: UInt64
    /// The amount that is shown, in milliunits: totals of shown amounts are sums of these.
    package let milliunits: Int64
    /// The digits after the point; empty where there are none.
    package let decimals: String

    package init(milliunits: Int64, currency: String?) {
        isNegative = milliunits < 0
        let count = Self.decimals(of: currency)
        let smallestUnit: UInt64 = [1000, 100, 10, 1][count]
        let rounded = (milliunits.magnitude + smallestUnit / 2) / smallestUnit * smallestUnit
        units = rounded / 1000
        self.milliunits = isNegative ? -Int64(clamping: rounded) : Int64(clamping: rounded)
        decimals = String(String(rounded % 1000 + 1000).dropFirst().prefix(count))
    }

    /// Without thousands separators: `-1234.56`.
    package var plainText: String { text(units: String(units)) }

    /// `units` are the digits before the point, perhaps with separators.
    package func text(units: String) -> String {
        (isNegative ? "-" : "") + units + (decimals.isEmpty ? "" : "." + decimals)
    }

    private static func decimals(of currency: String?) -> Int {
        guard let currency else { return 2 }
        if withoutDecimals.contains(currency) { return 0 }
        return withThreeDecimals.contains(currency) ? 3 : 2
    }

    private static let withoutDecimals: Set<String> = [
        "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND",
        "VUV", "XAF", "XOF", "XPF",
    ]
    private static let withThreeDecimals: Set<String> = [
        "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND",
    ]
}
