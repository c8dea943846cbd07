package import Subscriptions

/// The products of a company, and the entitlements that each of them grants.
///
/// A company that sells "pro" by the month, by the year and for life has three products and one
/// entitlement. Without a catalogue every product is an entitlement of its own name.
package struct ProductCatalogue: Hashable, Sendable {
    /// By product id.
    package var products: [String: CatalogueProduct]

    package init(products: [String: CatalogueProduct] = [:]) { self.products = products }

    /// A canonical form for the settings digest; also tells whether stored entitlements follow from this
    /// catalogue or from an earlier one.
    package var digested: CanonicalJSON {
        .object(
            products.mapValues { product in
                .object([
                    "kind": .string(product.kind.rawValue),
                    "grants": .array(product.grants.map(CanonicalJSON.string)),
                    "duration": .text(product.duration?.text),
                ])
            })
    }
}

/// One product of the catalogue.
package struct CatalogueProduct: Hashable, Sendable {
    package var kind: ProductKind
    /// The names of entitlements, each once, in the order of the file.
    package var grants: [String]
    /// How long a non-renewing subscription grants them, from its purchase.
    package var duration: CalendarDuration?
    /// Apple's number of the product in sales reports; no entitlement depends on it, so it is not in the
    /// digest.
    package var appleID: String?

    package init(
        kind: ProductKind = .autoRenewable, grants: [String] = [],
        duration: CalendarDuration? = nil
    ) {
        self.kind = kind
        self.grants = grants
        self.duration = duration
    }
}

/// The kinds of products, with the names that a catalogue gives them.
package enum ProductKind: String, Hashable, Sendable, CaseIterable {
    case autoRenewable = "auto-renewable"
    case nonRenewing = "non-renewing"
    case nonConsumable = "non-consumable"
    case consumable

    /// The `type` of a signed transaction; `nil` for one that this version does not know.
    package init?(signedType: String) {
        switch signedType {
        case "Auto-Renewable Subscription": self = .autoRenewable
        case "Non-Renewing Subscription": self = .nonRenewing
        case "Non-Consumable": self = .nonConsumable
        case "Consumable": self = .consumable
        default: return nil
        }
    }
}

/// A duration of ISO 8601 in whole years, months, weeks and days, such as `P90D` or `P1Y6M`.
package struct CalendarDuration: Hashable, Sendable {
    package let months: Int64
    package let days: Int64
    /// As it was written.
    package let text: String

    /// No part of a duration is longer than a hundred years.
    private static let mostDays: Int64 = 36_525

    /// `nil` for anything else, for a duration of zero, and for one of more than a hundred years.
    package init?(_ text: String) {
        guard text.utf8.count <= 32, text.first == "P" else { return nil }
        var months: Int64 = 0
        var days: Int64 = 0
        var digits = ""
        var units = Substring("YMWD")
        for character in text.dropFirst() {
            if character.isASCII, character.isNumber {
                digits.append(character)
                continue
            }
            // Units come in this order, and each once.
            guard let place = units.firstIndex(of: character), let number = Int64(digits),
                number <= Self.mostDays
            else { return nil }
            units = units[units.index(after: place)...]
            digits = ""
            switch character {
            case "Y": months += number * 12
            case "M": months += number
            case "W": days += number * 7
            default: days += number
            }
        }
        guard digits.isEmpty, months > 0 || days > 0, months <= 1200,
            months * 30 + days <= Self.mostDays
        else {
            return nil
        }
        self.months = months
        self.days = days
        self.text = text
    }

    /// The moment when so many durations, one after the other, have passed since `start`, in UTC.
    ///
    /// Months are counted in the calendar; where the last month has no such day, its last day counts.
    package func end(from start: Timestamp, times: Int64 = 1) -> Timestamp {
        let times = min(max(times, 0), Self.mostTimes)
        // A broken date in a row must not overflow the calendar.
        guard start.unixMilliseconds.magnitude < Self.farthest else { return start }
        let (day, time) = start.unixMilliseconds.floorDivided(by: Milliseconds.perDay)
        var date = CivilDate(daysSince1970: day)
        let (years, month) = (date.month - 1 + months * times).floorDivided(by: 12)
        date.year += years
        date.month = month + 1
        var last = date.day
        while CivilDate(year: date.year, month: date.month, day: last) == nil, last > 28 {
            last -= 1
        }
        date.day = last
        return Timestamp(unixMilliseconds: date.daysSince1970 * Milliseconds.perDay + time)
            .adding(milliseconds: days * times * Milliseconds.perDay)
    }

    /// Apple sells at most ten of a product at once.
    private static let mostTimes: Int64 = 100
    /// Milliseconds from 1970, some 30,000 years.
    private static let farthest: UInt64 = 1_000_000_000_000_000
}
