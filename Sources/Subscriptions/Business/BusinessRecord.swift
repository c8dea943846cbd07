/// What runs have counted of Apple's notification history, up to one run and its day.
///
/// Each verified notification is counted once, on the UTC day of its `signedDate`. A day that was not
/// read has no counts, and that is no zero: `reads` says what was read.
package struct BusinessRecord: Hashable, Sendable {
    /// By app, day, product and kind; sums above zero alone.
    package var counts: [EventCount]
    /// By app, then in the order of `from`.
    package var reads: [EventRead]

    package init(counts: [EventCount] = [], reads: [EventRead] = []) {
        self.counts = counts
        self.reads = reads
    }

    /// Days that a report shows, the run's own included.
    package static let shownDays: Int64 = 36
    /// Weeks whose same weekday a day is held against.
    package static let comparedWeeks: Int64 = 4
    /// Days that must be known, so that each shown day can be held against the weeks before it.
    package static let knownDays = shownDays + 7 * comparedWeeks
}

/// How many events of one kind an app's product had on one day.
package struct EventCount: Hashable, Sendable {
    package var app: AppIdentity
    /// Since 1970-01-01.
    package var day: Int64
    package var productID: String
    package var kind: BusinessEventKind
    package var events: Int

    package init(
        app: AppIdentity, day: Int64, productID: String, kind: BusinessEventKind, events: Int
    ) {
        self.app = app
        self.day = day
        self.productID = productID
        self.kind = kind
        self.events = events
    }
}

/// A time of which every notification of an app was read and counted, both ends included.
package struct EventRead: Hashable, Sendable {
    package var app: AppIdentity
    package var from: Timestamp
    package var through: Timestamp

    package init(app: AppIdentity, from: Timestamp, through: Timestamp) {
        self.app = app
        self.from = from
        self.through = through
    }
}

extension Timestamp {
    /// The UTC day, counted from 1970-01-01.
    package var dayNumber: Int64 {
        unixMilliseconds.floorDivided(by: Milliseconds.perDay).quotient
    }
}
