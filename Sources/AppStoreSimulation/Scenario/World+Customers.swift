import Subscriptions

/// The scripted customers: what a control call shows of them, and what their scenario expects.
extension World {
    /// Writes the scripted customers for the control call.
    func writeScripted(into json: inout JSONWriter) {
        for (name, account) in scripted.accounts.sorted(by: { $0.key < $1.key }) {
            json.object { json in
                json.field("name", name)
                json.field("environment", environment.rawValue)
                json.field(
                    "app_transaction_id", String(identifiers.appTransactionID(account: account)))
                if accounts[account].hasToken {
                    json.field(
                        "app_account_token", identifiers.appAccountToken(account: account))
                }
                json.key("purchases")
                json.array { json in
                    for purchase in scripted.purchases[name] ?? [] {
                        json.object { write(purchase, into: &$0) }
                    }
                }
            }
        }
    }

    private func write(_ purchase: ScriptedNames.Purchase, into json: inout JSONWriter) {
        let chain = chains[purchase.chain]
        json.field("label", purchase.label)
        json.field("original_transaction_id", originalTransactionID(chain: purchase.chain))
        json.key("transaction_ids")
        json.array { json in
            for period in chain.transactions.indices {
                json.string(
                    String(identifiers.transactionID(chain: purchase.chain, period: period)))
            }
        }
        if chain.isSubscription { json.field("status", chain.phase.status) }
        json.key("order_ids")
        json.array { json in
            for period in chain.transactions.indices {
                json.string(identifiers.orderID(chain: purchase.chain, period: period))
            }
        }
        json.key("notifications")
        json.array { json in
            for record in notifications where Int(record.chain) == purchase.chain {
                guard record.date <= now else { continue }
                json.string(record.event.name)
            }
        }
    }

    /// The expectations of a scenario that the world does not meet, one sentence each.
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
