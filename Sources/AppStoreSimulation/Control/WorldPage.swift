import Subscriptions
import Synchronization

/// An HTML page about the world: clock, counts, last requests and notifications, faults.
struct WorldPage {
    static let shownRequests = 30
    static let shownNotifications = 20

    let app: SimulatedApp
    let report: SimulatorReport?
    let now: Timestamp
    let environments: [EnvironmentView]
    let faults: [(name: String, matched: Int, fired: Int)]

    /// What the page shows of one environment.
    struct EnvironmentView: Sendable {
        var environment: SimulatedEnvironment
        var customers = 0
        var purchases = 0
        var notifications = 0
        /// Subscriptions by Apple's status, one-time purchases under 0.
        var statuses: [Int: Int] = [:]
        var lastNotifications: [NotificationLine] = []
        var log = RequestLog.Snapshot()
    }

    /// What the page shows of a notification.
    struct NotificationLine: Sendable {
        let date: Timestamp
        let name: String
        let originalTransactionID: String
        let lastAttempt: String
    }

    private static let statusNames = [
        1: "active", 2: "expired", 3: "in billing retry", 4: "in grace period", 5: "revoked",
        0: "one-time purchases",
    ]

    var answer: ServiceAnswer {
        var answer = ServiceAnswer(
            status: 200, contentType: "text/html;charset=UTF-8", body: Array(html.utf8))
        answer.headers = [
            ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
            ("Cache-Control", "no-store"),
        ]
        return answer
    }

    private var html: String {
        var body = HTMLWriter()
        body.element("header") { html in
            html.element("h1", "Simulated App Store")
            html.element("p", "\(app.bundleID) (\(app.appAppleID))")
            html.element("p", class: "clock", "The world's clock: \(now.rfc3339)")
        }
        body.element("div", class: "sides") { html in
            for view in environments {
                html.element("section") { write(view, into: &$0) }
            }
        }
        body.element("section") { html in
            html.element("h2", "Last requests")
            html.table(
                ["time", "environment", "request", "status", "faults"], rows: requestRows,
                none: "No call has been made yet.")
        }
        body.element("section") { html in
            html.element("h2", "Last notifications")
            html.table(
                ["time", "environment", "notification", "original transaction id", "last attempt"],
                rows: notificationRows, none: "Nothing was sent yet.")
        }
        body.element("section") { html in
            html.element("h2", "Faults in force")
            html.table(
                ["fault", "matched", "fired"],
                rows: faults.map { [$0.name, String($0.matched), String($0.fired)] },
                none: "None: every answer is right.")
        }
        if let report { body.element("section") { write(report, into: &$0) } }
        return Self.head + body.text + "</body></html>\n"
    }

    private func write(_ view: EnvironmentView, into html: inout HTMLWriter) {
        html.element("h2", view.environment.rawValue)
        html.element("dl") { html in
            func pair(_ name: String, _ value: Int) {
                html.element("dt", name)
                html.element("dd", String(value))
            }
            pair("customers", view.customers)
            pair("purchases", view.purchases)
            for status in [1, 4, 3, 2, 5, 0] {
                guard let count = view.statuses[status], let name = Self.statusNames[status] else {
                    continue
                }
                pair(status == 0 ? name : "\(name) (status \(status))", count)
            }
            pair("notifications kept", view.notifications)
            pair("requests", view.log.total)
            pair("connections", view.log.connections.count)
        }
        let rows = view.log.endpoints.sorted { $0.key < $1.key }.map { name, counts in
            let statuses = counts.byStatus.sorted { $0.key < $1.key }
                .map { "\($0.key == 0 ? "cut" : String($0.key)): \($0.value)" }
            return [name, String(counts.total), statuses.joined(separator: ", ")]
        }
        if !rows.isEmpty {
            html.table(["endpoint", "requests", "by status"], rows: rows, none: "")
        }
    }

    private var requestRows: [[String]] {
        environments.flatMap { view in
            view.log.recent.last(Self.shownRequests).map { (view.environment, $0) }
        }
        .sorted { $0.1.date > $1.1.date }.prefix(Self.shownRequests)
        .map { environment, request in
            let status = request.status == 0 ? "cut" : String(request.status)
            let faults = request.faults.joined(separator: ", ")
            return [request.date.rfc3339, environment.rawValue, request.line, status, faults]
        }
    }

    private var notificationRows: [[String]] {
        environments.flatMap { view in view.lastNotifications.map { (view.environment, $0) } }
            .sorted { $0.1.date > $1.1.date }.prefix(Self.shownNotifications)
            .map { environment, line in
                [
                    line.date.rfc3339, environment.rawValue, line.name,
                    line.originalTransactionID, line.lastAttempt,
                ]
            }
    }

    private func write(_ report: SimulatorReport, into html: inout HTMLWriter) {
        html.element("h2", "For clients")
        html.element("dl", class: "wide") { html in
            for (name, value) in [
                ("production", report.endpoint), ("sandbox", report.sandboxEndpoint),
                ("control", report.control), ("TLS root", report.tlsRootFile),
                ("signing root", report.signingRootFile), ("private key", report.keyFile),
                ("key id", report.app.keyID), ("issuer id", report.app.issuerID),
                ("revocation service", report.ocsp ?? ""),
            ] where !value.isEmpty {
                html.element("dt", name)
                html.element("dd", value)
            }
        }
    }

    private static let head = """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Simulated App Store</title>
        <style>
        :root { color-scheme: light dark; }
        body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto;
          padding: 1.5rem; color: #1b1b1f; background: #f6f6f8; }
        h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 0 0 .6rem; font-size: 1.1rem; }
        header p { margin: .1rem 0; color: #5c5c66; } .clock { font-variant-numeric: tabular-nums; }
        section { background: #fff; border: 1px solid #e2e2e8; border-radius: .6rem;
          padding: 1rem 1.2rem; margin: 1rem 0; overflow-x: auto; }
        .sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr));
          gap: 0 1rem; }
        dl { display: grid; grid-template-columns: 1fr auto; gap: .1rem 1rem; margin: 0; }
        dl.wide { grid-template-columns: max-content 1fr; }
        dt { color: #5c5c66; } dd { margin: 0; font-variant-numeric: tabular-nums;
          overflow-wrap: anywhere; }
        table { border-collapse: collapse; width: 100%; margin-top: .6rem; font-size: .9rem; }
        th { text-align: left; color: #5c5c66; font-weight: 600; }
        th, td { padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ececf1;
          vertical-align: top; overflow-wrap: anywhere; }
        tr:last-child td { border-bottom: 0; } .none { margin: 0; color: #5c5c66; }
        @media (prefers-color-scheme: dark) { body { color: #ececf1; background: #17171a; }
          section { background: #202024; border-color: #34343a; }
          th, td { border-color: #34343a; } header p, dt, th, .none { color: #a5a5b0; } }
        </style></head><body>

        """
}

extension SimulatorControl {
    /// The HTML page at `/`.
    func page() -> ServiceAnswer {
        let now = clock.now
        return WorldPage(
            app: token.app, report: ports.report, now: now,
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
