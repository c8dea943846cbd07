import Subscriptions
import Synchronization

extension SimulatorControl {
    /// The page for people at `/`.
    func page() -> ServiceAnswer {
        let now = clock.now
        return WorldPage(
            app: token.app, report: announcement.report, now: now,
            environments: services.map { view(of: $0, now: now) }, faults: faults.report
        ).answer
    }

    private func view(of service: AppStoreService, now: Timestamp) -> WorldPage.EnvironmentView {
        let environment = service.environment
        var view = service.world.state.withLock { world in
            world.advance(to: now)
            var view = WorldPage.EnvironmentView(environment: environment)
            view.customers = world.accounts.count
            view.purchases = world.chains.count
            view.notifications = world.notifications.count
            for chain in world.chains where !chain.isReplaced {
                view.statuses[chain.phase.status, default: 0] += 1
            }
            view.lastNotifications = world.notifications.suffix(WorldPage.shownNotifications)
                .map { record in
                    WorldPage.NotificationLine(
                        date: record.date,
                        name: [record.event.type, record.event.subtype].compactMap(\.self)
                            .joined(separator: " / "),
                        originalTransactionID: record.chain < 0
                            ? ""
                            : String(
                                world.identifiers.transactionID(
                                    chain: Int(record.chain), period: 0)),
                        lastAttempt: record.attempts(in: environment, until: now).last?.result
                            ?? "none yet")
                }
            return view
        }
        view.log = logs[environment]?.snapshot ?? RequestLog.Snapshot()
        return view
    }
}
