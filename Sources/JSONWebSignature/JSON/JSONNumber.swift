/// Converts JSON numbers to integers exactly, without floating point.
enum JSONNumber {
    /// The number as an `Int64`.
    ///
    /// - Parameters:
    ///   - text: A number that the scanner has accepted.
    ///   - roundsDown: Whether a fraction is dropped towards negative infinity; otherwise a number
    ///     with a fraction is no integer.
    /// - Returns: `nil` where it is no integer or does not fit.
    static func integer(_ text: ArraySlice<UInt8>, roundsDown: Bool) -> Int64? {
        plainInteger(text) ?? anyInteger(text, roundsDown: roundsDown)
    }

    /// The number where it is digits alone, and few enough to fit: nearly every number is.
    private static func plainInteger(_ text: ArraySlice<UInt8>) -> Int64? {
        guard text.count <= 18 else { return nil }
        var value: Int64 = 0
        for byte in text {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            value = value &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
        }
        return value
    }

    private static func anyInteger(_ text: ArraySlice<UInt8>, roundsDown: Bool) -> Int64? {
        var isNegative = false
        var digits: [UInt8] = []
        var fractionDigits = 0
        var isFraction = false
        var exponent = 0
        var index = text.startIndex
        scan: while index < text.endIndex {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                guard let value = self.exponent(text[(index + 1)...]) else { return nil }
                exponent = value
                break scan
            default:
                digits.append(byte - UInt8(ascii: "0"))
                if isFraction { fractionDigits += 1 }
            }
            index += 1
        }
        return shifted(
            digits, by: exponent - fractionDigits, isNegative: isNegative, roundsDown: roundsDown)
    }

    /// `digits` times ten to the power of `shift`.
    private static func shifted(
        _ digits: [UInt8], by shift: Int, isNegative: Bool, roundsDown: Bool
    ) -> Int64? {
        let wholeCount = digits.count + shift
        var hasFraction = false
        var value: Int64 = 0
        for (index, digit) in digits.enumerated() {
            if index >= wholeCount {
                hasFraction = hasFraction || digit != 0
            } else {
                guard let next = appended(digit, to: value, isNegative: isNegative) else {
                    return nil
                }
                value = next
            }
        }
        if value != 0, shift > 0 {
            for _ in 0..<min(shift, 20) {
                guard let next = appended(0, to: value, isNegative: isNegative) else { return nil }
                value = next
            }
        }
        guard hasFraction else { return value }
        guard roundsDown else { return nil }
        return isNegative ? (value == .min ? nil : value - 1) : value
    }

    private static func appended(_ digit: UInt8, to value: Int64, isNegative: Bool) -> Int64? {
        let (product, overflow) = value.multipliedReportingOverflow(by: 10)
        guard !overflow else { return nil }
        let (sum, overflowToo) =
            isNegative
            ? product.subtractingReportingOverflow(Int64(digit))
            : product.addingReportingOverflow(Int64(digit))
        return overflowToo ? nil : sum
    }

    /// An exponent with more than six digits is larger than that of any integer that fits.
    private static func exponent(_ text: ArraySlice<UInt8>) -> Int? {
        guard text.count <= 7 else { return nil }
        return Int(String(decoding: text, as: UTF8.self))
    }
}
