import AppStoreServerAPI
import Subscriptions
import Testing

@testable import trueup

/// The arithmetic of `trueup estimate`: counted questions and earlier runs in, calls out.
@Suite struct `The forecast of a run` {
    static let app = AppIdentity(bundleID: "com.example.app", environment: .production)

    private static func settings(_ app: AppIdentity = app, rate: Double? = 25) -> AppSettings {
        var settings = AppSettings()
        settings.bundleID = app.bundleID
        settings.environment = app.environment
        settings.requestsPerSecond = rate
        return settings
    }

    private static func customers(_ count: Int) -> CustomerCount {
        var customers = CustomerCount()
        for customer in 0..<count { customers.add("customer-\(customer)") }
        return customers
    }

    private static func run(
        statuses: Int, history: Int = 0, notifications: Int?, named: Int = 0, settled: Int = 0
    ) -> PastRun {
        var coverage = RunCoverage(kind: .delta)
        coverage.asked[.notification] = named
        coverage.settledByNotification = settled
        var calls = ["subscription_statuses": statuses, "transaction_history": history]
        calls["notification_history"] = notifications
        return PastRun(
            runID: "20261118T000000Z-7f3c9a", started: Timestamp(unixMilliseconds: 0),
            calls: calls, coverage: coverage)
    }

    private func job(_ lines: String...) throws -> JobSettings {
        try JobSettings(yaml: lines.joined(separator: "\n") + "\n", file: "jobs/nightly.yaml")
    }

    private func line(_ endpoint: Endpoint, of forecast: RunForecast) throws -> RunForecast.Line {
        try #require(forecast.lines.first { $0.endpoint == endpoint })
    }

    private func asking(_ customers: Int, after runs: [PastRun] = []) -> QuestionForecast {
        var questions = QuestionForecast()
        questions.asked = [Self.app: Self.customers(customers)]
        questions.questions = [.round: customers]
        questions.pastRuns = runs
        return questions
    }

    @Test func `a stopped run is resumed for as long as a run says`() throws {
        var questions = asking(10)
        questions.resumes = true
        let job = try job("steps: [walk]")
        let report = EstimateReport(
            job: job,
            forecast: RunForecast(questions, job: job, apps: [Self.settings()], rows: []))
        let text = report.lines.joined(separator: "\n")
        #expect(text.contains("begins within \(OpenPass.usualHours) hours"), "\(text)")
    }

    @Test func `refunds are a part of the customers with purchases each night`() throws {
        var questions = asking(10)
        var count = RefundSweepCount()
        (count.customers, count.due, count.days) = (1001, 700, 10)
        questions.refunds = [Self.app: count]
        let forecast = RunForecast(
            questions, job: try job("steps: [walk]", "purchases: {sweep_days: 10}"),
            apps: [Self.settings()], rows: [])
        let refunds = try line(.refundHistory, of: forecast)
        #expect(refunds.expected == 101 && refunds.least == 0 && refunds.most == nil)
        // Apple allows ten a second, whatever the settings say.
        #expect(refunds.milliseconds == 10_100)
        #expect(forecast.inShort.calls["refund_history"] == 101)
        // Of customers without a subscription the whole history is read.
        (count.dueWithoutSubscription, questions.refunds[Self.app]) = (350, nil)
        questions.refunds = [Self.app: count]
        let both = RunForecast(
            questions,
            job: try job("steps: [walk]", "history: never", "purchases: {sweep_days: 10}"),
            apps: [Self.settings()], rows: [])
        #expect(try line(.refundHistory, of: both).expected == 50)
        #expect(try line(.transactionHistory, of: both).expected == 51)
        count.due = 7
        #expect(count.tonight == 7)
    }

    /// Purchases make a history be read from its beginning, by pages of 20 transactions.
    @Test func `histories have as many pages as the stored transactions fill`() throws {
        var questions = asking(10, after: [Self.run(statuses: 10, history: 10, notifications: nil)])
        questions.furtherPages = [Self.app: HistoryPages(customers: 20, further: 8)]
        let always = RunForecast(
            questions, job: try job("steps: [walk]", "history: always"), apps: [Self.settings()],
            rows: [])
        let history = try line(.transactionHistory, of: always)
        #expect((history.least, history.expected, history.most) == (14, 14, 14))
    }

    @Test func `a walk without notifications takes one call for each customer, for certain`() throws
    {
        let forecast = RunForecast(
            asking(9000), job: try job("steps: [walk]", "coverage: full", "history: never"),
            apps: [Self.settings()], rows: [])
        #expect(forecast.lines.count == 1)
        let statuses = try line(.subscriptionStatuses, of: forecast)
        #expect((statuses.least, statuses.expected, statuses.most) == (9000, 9000, 9000))
        #expect(statuses.basis == .counted)
        // 9,000 calls at 25/s; 90,000 an hour are the job's, 180,000 are Apple's limit.
        #expect(statuses.milliseconds == 360_000)
        #expect(forecast.milliseconds == 360_000)
        #expect(statuses.shareOfHour == 0.1)
        #expect(statuses.shareOfAppleHour == 0.05)
    }

    @Test func `pages of notifications are unknown until a run has read them`() throws {
        let nightly = try job("steps: [recover, walk]", "coverage: delta")
        let first = RunForecast(
            asking(100), job: nightly, apps: [Self.settings()], rows: [])
        let unknown = try line(.notificationHistory, of: first)
        #expect((unknown.least, unknown.expected, unknown.most) == (1, nil, nil))
        #expect(unknown.basis == .unknown)
        #expect(unknown.milliseconds == nil)
        #expect(try line(.subscriptionStatuses, of: first).least == 0)
        #expect(try line(.subscriptionStatuses, of: first).most == nil)

        let runs = [
            Self.run(statuses: 90, notifications: 50, named: 3, settled: 20),
            Self.run(statuses: 70, notifications: 10, named: 1, settled: 10),
            Self.run(statuses: 80, notifications: 20, named: 2, settled: 30),
        ]
        let later = RunForecast(
            asking(100, after: runs), job: nightly, apps: [Self.settings()], rows: [])
        let pages = try line(.notificationHistory, of: later)
        #expect((pages.least, pages.expected, pages.most) == (10, 20, 50))
        #expect(pages.basis == .forecast)
        let statuses = try line(.subscriptionStatuses, of: later)
        #expect((statuses.least, statuses.expected, statuses.most) == (70, 102, 103))
        #expect(statuses.basis == .forecast)
        // Reading comes before asking: 20 pages and 102 calls at 25/s.
        #expect(later.milliseconds == 4880)
    }

    @Test func `with full coverage no notification settles a row without a call`() throws {
        let forecast = RunForecast(
            asking(100, after: [Self.run(statuses: 90, notifications: 5, named: 4, settled: 50)]),
            job: try job("steps: [recover, walk]", "coverage: full"), apps: [Self.settings()],
            rows: [])
        let statuses = try line(.subscriptionStatuses, of: forecast)
        #expect((statuses.least, statuses.expected, statuses.most) == (100, 100, 104))
    }

    @Test func `history that is always read takes a call for each customer at least`() throws {
        let backfill = try job("steps: [walk]", "coverage: full", "history: always")
        let first = RunForecast(asking(100), job: backfill, apps: [Self.settings()], rows: [])
        let unknown = try line(.transactionHistory, of: first)
        #expect((unknown.least, unknown.expected, unknown.most) == (100, nil, nil))
        let later = RunForecast(
            asking(100, after: [Self.run(statuses: 100, history: 250, notifications: nil)]),
            job: backfill, apps: [Self.settings()], rows: [])
        #expect(try line(.transactionHistory, of: later).expected == 250)
        // Statuses and history are two endpoints, called side by side.
        #expect(later.milliseconds == 10_000)
    }

    @Test func `a part of the quiet rows that is drawn makes no exact number`() throws {
        var questions = asking(100)
        questions.drawsPart = true
        let forecast = RunForecast(
            questions, job: try job("steps: [walk]", "coverage: delta"), apps: [Self.settings()],
            rows: [])
        let statuses = try line(.subscriptionStatuses, of: forecast)
        #expect(statuses.basis == .forecast)
        #expect(statuses.expected == 100)
        #expect(statuses.most == nil)
    }

    @Test func `what all apps needed together is divided by their rows, and their times add up`()
        throws
    {
        let sandbox = AppIdentity(bundleID: Self.app.bundleID, environment: .sandbox)
        var questions = asking(500, after: [Self.run(statuses: 0, notifications: 40)])
        questions.asked[sandbox] = Self.customers(50)
        let rows = [(Self.app, 300), (sandbox, 100)].map {
            AppRows(bundleID: $0.0.bundleID, environment: $0.0.environment.rawValue, rows: $0.1)
        }
        let forecast = RunForecast(
            questions, job: try job("steps: [recover, walk]", "coverage: full", "history: never"),
            apps: [Self.settings(), Self.settings(sandbox, rate: nil)], rows: rows)
        let pages = forecast.lines.filter { $0.endpoint == .notificationHistory }
        #expect(pages.map(\.expected) == [30, 10])
        // 30 + 500 calls at 25/s, then 10 + 50 at half of the sandbox's 5/s.
        #expect(forecast.milliseconds == 45_200)
        // A run for one of them reads the notifications of that one.
        let one = RunForecast(
            questions, job: try job("steps: [recover, walk]", "coverage: full", "history: never"),
            apps: [Self.settings()], among: [Self.app, sandbox], rows: rows)
        #expect(try line(.notificationHistory, of: one).expected == 30)
    }

    @Test func `notifications make no more calls than there are rows and customers`() throws {
        let nightly = try job("steps: [recover, walk]", "coverage: delta", "history: never")
        var questions = asking(95, after: [Self.run(statuses: 90, notifications: 9, named: 20)])
        func expected(rows: Int) throws -> Int? {
            let rows = AppRows(
                bundleID: Self.app.bundleID, environment: Self.app.environment.rawValue, rows: rows)
            let forecast = RunForecast(
                questions, job: nightly, apps: [Self.settings()], rows: [rows])
            return try line(.subscriptionStatuses, of: forecast).expected
        }
        #expect(try expected(rows: 200) == 115)
        #expect(try expected(rows: 110) == 110)
        // The table may lack subscriptions that are asked about.
        #expect(try expected(rows: 90) == 95)
        questions.customers = Self.customers(100)
        #expect(try expected(rows: 110) == 100)
    }

    @Test func `the report says what is certain, and how many runs it takes`() throws {
        let nightly = try job(
            "steps: [recover, walk]", "coverage: full", "max_duration: 1m", "history: never")
        var questions = asking(3000)
        questions.rows = 3200
        questions.customers = Self.customers(3000)
        questions.excluded = [.inFlight: 3]
        let report = EstimateReport(
            job: nightly,
            forecast: RunForecast(questions, job: nightly, apps: [Self.settings()], rows: []))
        #expect(report.text.contains("Rows       3200, of 3000 customers"), "\(report.text)")
        #expect(report.text.contains("3 rows in flight"))
        #expect(
            report.text.contains(
                "at least 2 min at the rate that the settings allow; max_duration is 1 min, so it "
                    + "takes 2 runs"), "\(report.text)")
        #expect(report.text.contains("No run of this job has reached its end"))
        let json = report.json.rendered
        #expect(json.contains(#""percent_of_hour":"3.4""#), "\(json)")
        #expect(json.contains(#""endpoint":"notification_history","environment":"Production","#))
        #expect(json.contains(#""questions":{"round":3000}"#))
        // Before a company's own table was read there is nothing to count.
        let unread = EstimateReport(
            job: nightly, forecast: RunForecast(questions, job: nightly, apps: [], rows: []),
            copy: CopyState(table: "subs", refreshedAt: nil, rows: nil))
        #expect(unread.text.contains("No run has read your table subs to its end yet"))
        #expect(unread.text.contains("trueup check nightly"))
    }
}

extension EstimateReport {
    fileprivate var text: String { lines.joined(separator: "\n") }
}
