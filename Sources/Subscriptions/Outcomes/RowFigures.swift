/// What one judged row adds to the control totals.
package struct RowFigures: Hashable, Sendable {
    /// What Apple states of the row.
    package struct Stated: Hashable, Sendable {
        package var status: Int
        /// Milliunits of the stated period.
        package var price: Int64?
        package var currency: String?

        package init(status: Int, price: Int64?, currency: String?) {
            self.status = status
            self.price = price
            self.currency = currency
        }
    }

    /// Our status as it was judged.
    package var ourStatus: Int64?
    /// `nil` where Apple states nothing about the id.
    package var stated: Stated?

    package init(ourStatus: Int64?, stated: Stated?) {
        self.ourStatus = ourStatus
        self.stated = stated
    }
}
