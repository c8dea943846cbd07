import Subscriptions

/// A rule about all subscriptions of one customer together.
///
/// It runs only over an answer that contains the asked id; each finding names the row it concerns.
protocol CustomerRule: Rule {
    func differences(in reading: CustomerReading) -> [Difference]
}
