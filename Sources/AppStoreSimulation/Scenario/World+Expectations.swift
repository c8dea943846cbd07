import Subscriptions

extension World {
    /// What a scenario's file expects and the world does not show, in sentences.
    func unmetExpectations(of scenario: Scenario) -> [String] {
        scenario.customers.filter { $0.environment == environment }.flatMap { customer in
            customer.expectations.compactMap { expected in
                unmet(expected, customer: customer.name).map { reason in
                    (expected.line.map { "line \($0): " } ?? "") + reason
                }
            }
        }
    }

    private func unmet(_ expected: ScenarioExpectation, customer: String) -> String? {
        guard let index = try? scripted.chain(of: customer, label: expected.of) else {
            return "\(customer) has bought nothing"
                + (expected.of.map { " labelled \"\($0)\"" } ?? "")
        }
        let status = chains[index].phase.status
        if let wanted = expected.status, wanted != status {
            return "\(customer) should have status \(wanted), has \(status)"
        }
        let sent = notifications.filter { Int($0.chain) == index && $0.date <= now }.map(
            \.event.name)
        if let wanted = expected.notifications, wanted != sent {
            return "\(customer) should be told \(wanted), was told \(sent)"
        }
        return nil
    }
}
