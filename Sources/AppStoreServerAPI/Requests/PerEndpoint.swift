import Subscriptions

/// One value for each endpoint.
///
/// Not a dictionary: a limiter that is taken out, changed and put back is copied for every call, and
/// with it what it knows of an hour.
struct PerEndpoint<Value> {
    private var values: [Value]

    init(_ make: (Endpoint) -> Value) {
        values = Endpoint.allCases.map(make)
    }

    subscript(endpoint: Endpoint) -> Value { values[endpoint.position] }

    /// Changes a value where it stands.
    mutating func update<Result>(
        _ endpoint: Endpoint, _ change: (inout Value) -> Result
    ) -> Result {
        change(&values[endpoint.position])
    }
}

extension PerEndpoint: Sendable where Value: Sendable {}

extension Endpoint {
    /// Where it stands in `allCases`.
    fileprivate var position: Int {
        switch self {
        case .subscriptionStatuses: 0
        case .transactionHistory: 1
        case .transactionInfo: 2
        case .notificationHistory: 3
        }
    }
}
