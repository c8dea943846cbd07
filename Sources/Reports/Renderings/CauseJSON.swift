import Subscriptions

extension CauseCluster {
    /// As `summary.json` has it.
    var json: CanonicalJSON {
        .object([
            "app": .string(bundleID),
            "bursts": .array(
                bursts.map { burst in
                    .object([
                        "end": .time(burst.end),
                        "notifications": .integer(burst.notifications),
                        "start": .time(burst.start),
                    ])
                }),
            "cause": .string(cause),
            "corrections": .integer(corrections),
            "delivery": .text(delivery?.rawValue),
            "earlier_days": .integer(earlierDays),
            "environment": .string(environment),
            "example": .text(example),
            "findings": .integer(findings),
            "first_attempt": .time(firstAttempt),
            "kinds": .counts(kinds, by: \.self),
            "last_attempt": .time(lastAttempt),
            "money": .array(
                money.map { total in
                    .object([
                        "amount": .integer(total.amount),
                        "currency": .string(total.currency),
                        "direction": .string(total.direction.rawValue),
                        "findings": .integer(total.findings),
                    ])
                }),
            "notification_types": .counts(notificationTypes, by: \.self),
            "notifications": .integer(notifications),
            "product_id": .text(productID),
            "result": .text(result),
            "rows": .integer(rows),
            "still_retried": .integer(stillRetried),
        ])
    }
}
