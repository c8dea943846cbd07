import Subscriptions

/// What was counted and measured, for machines.
extension RunSummary {
    /// The control totals by app; null where they were not counted.
    var controlJSON: CanonicalJSON {
        guard let control else { return .null }
        return .array(control.apps.map(\.json))
    }

    /// How late notifications came; null where none was read or it was not measured.
    var delaysJSON: CanonicalJSON {
        guard let delivery = measures?.delivery else { return .null }
        return .object([
            "arrived": delivery.arrived?.json ?? .null,
            "recovered": delivery.recovered?.json ?? .null,
            "underway": .integer(Int64(clamping: delivery.underway)),
        ])
    }

    /// The busiest hour of each endpoint, and how long the run was kept from asking.
    var effortJSON: CanonicalJSON {
        guard let effort = measures?.effort else { return .null }
        return .object([
            "busiest_hour": .array(
                effort.peaks.map { peak in
                    .object([
                        "app": .string(peak.bundleID),
                        "calls": .integer(Int64(clamping: peak.calls)),
                        "endpoint": .string(peak.endpoint),
                        "environment": .string(peak.environment),
                        "limit": .integer(Int64(clamping: peak.limit)),
                    ])
                }),
            "waited_milliseconds": .object(
                effort.waitedMilliseconds.mapValues(CanonicalJSON.integer)),
        ])
    }
}

extension AppControlTotals {
    fileprivate var json: CanonicalJSON {
        .object([
            "after": after.json, "app": .string(bundleID), "before": before.json,
            "corrections": corrections.json, "environment": .string(environment),
            "judged": .object([
                "apple": judged.apple.json, "ours_after": judged.after.json,
                "ours_before": judged.before.json,
            ]),
            "others_meanwhile": othersMeanwhile.json,
            "others_since": othersSince?.json ?? .null,
            "previous": previous?.sums.json ?? .null,
            "previous_run_id": .text(previous?.runID),
            "uncounted_corrections": uncounted.json,
        ])
    }
}

extension ControlSums {
    /// Rows by status, `none` for none of the five; prices in milliunits by currency, `none` without one.
    fileprivate var json: CanonicalJSON {
        var rows: [String: CanonicalJSON] = [:]
        for (group, count) in statuses where count != 0 {
            rows[group == 0 ? "none" : String(group)] = .integer(Int64(clamping: count))
        }
        var sums: [String: CanonicalJSON] = [:]
        for (currency, price) in prices {
            sums[currency.isEmpty ? "none" : currency] = .object([
                "amount": .integer(price.amount),
                "periods": .integer(Int64(clamping: price.periods)),
            ])
        }
        return .object(["prices": .object(sums), "rows": .object(rows)])
    }
}

extension DelayFigures {
    fileprivate var json: CanonicalJSON {
        .object([
            "median_seconds": .integer(medianSeconds),
            "notifications": .integer(Int64(clamping: notifications)),
            "worst_seconds": .integer(worstSeconds),
        ])
    }
}
