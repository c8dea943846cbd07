import Subscriptions

extension AllRules {
    /// `missing_locally`: an answer that contains the asked id shows a subscription we do not hold.
    ///
    /// High; critical if it entitles, because the customer has paid and gets nothing. It is inserted
    /// with the asked row's customer and its own account token, unless its status is unknown or
    /// contradicts the signed fields, or a write veto prevents it. A subscription that only a
    /// notification named, of a customer without any row of trueup's, is reported and left to the
    /// company to insert.
    static let missingLocally = CustomerRule("MissingLocallyRule") { reading in
        reading.subscriptions.filter { !reading.isHeld($0) }.map { stated in
            let entitles = stated.status.isEntitling && stated.contradiction == nil
            var finding = reading.comparison(of: stated).finding(
                .missingLocally, entitles ? .critical : .high, cause: "purchase not recorded")
            finding.appleValue = stated.value(of: .status)
            finding.direction = entitles ? .customerLoses : .neutral
            return Difference(finding, payload: stated.transaction.evidence)
                .stating(priceOf: stated.transaction)
        }
    }
}
