/// How much of a second the company's columns keep, where that is less than Apple states.
///
/// A database rounds what is written with more digits, up as well as down; a time of ours is cut
/// before, so that it never ends later than Apple's.
package struct TimePrecision: Hashable, Sendable {
    /// Digits of a second's fraction, 0 to 2, by our column.
    package var digits: [SubscriptionField: Int]

    package init(digits: [SubscriptionField: Int] = [:]) { self.digits = digits }

    /// A value without what the column does not keep.
    ///
    /// - Parameters:
    ///   - value: Any value; only times are cut, before 1970 downwards, too.
    ///   - field: Our column.
    /// - Returns: The value as it will be read again.
    package func cut(_ value: FieldValue, in field: SubscriptionField) -> FieldValue {
        guard case .time(let time) = value, let step = digits[field].flatMap(Self.step) else {
            return value
        }
        let rest = time.unixMilliseconds.floorDivided(by: step).remainder
        return .time(Timestamp(unixMilliseconds: time.unixMilliseconds &- rest))
    }

    private static func step(ofDigits digits: Int) -> Int64? {
        switch digits {
        case 0: 1000
        case 1: 100
        case 2: 10
        default: nil
        }
    }
}

extension CompanyChange {
    /// The change with times that are written no more precisely than their columns keep them.
    package func cut(to precision: TimePrecision) -> CompanyChange {
        guard !precision.digits.isEmpty else { return self }
        var change = self
        for (field, value) in after { change.after[field] = precision.cut(value, in: field) }
        return change
    }
}
