import Subscriptions

/// A subscription is not inserted while a row of it stands under another app, which a run for some
/// apps alone does not read: there would be two rows for one subscription.
///
/// A run that reads every row finds `wrong_app` there instead.
struct OtherAppVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        reading.context.item.underOtherApps[stated.originalTransactionID].map {
            "a row of it stands under \($0.bundleID) (\($0.environment)); mend the app of that row"
        }
    }
}
