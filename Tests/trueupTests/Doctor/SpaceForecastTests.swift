import Testing

@testable import trueup

@Suite struct `The room for a run` {
    private func forecast(_ change: (inout SpaceForecast) -> Void) -> SpaceForecast {
        var forecast = SpaceForecast()
        change(&forecast)
        return forecast
    }

    @Test func `that fills rows in grows with the rows and with their periods`() {
        let none = forecast { $0.firstFills = 1000 }
        let six = forecast {
            $0.firstFills = 1000
            $0.periods = 6
        }
        // Measured: 27 KB of database and some 7 KB of report for a row with six periods.
        #expect((20_000_000...35_000_000).contains(six.databaseBytes))
        #expect((5_000_000...9_000_000).contains(six.reportBytes))
        #expect(none.databaseBytes < six.databaseBytes / 3)
    }

    @Test func `that finds rows as they are takes little beside its fixed files`() {
        let space = forecast { $0.known = 1000 }
        #expect(space.databaseBytes < 1_000_000)
        #expect((200_000...1_000_000).contains(space.reportBytes))
    }

    @Test func `is as large for each known row as the last report was`() {
        let space = forecast {
            $0.known = 300
            $0.lastReport = (bytes: 700_000, questions: 100)
        }
        #expect(space.reportBytes == 200_000 + 1_500_000)
        let unknown = forecast {
            $0.known = 300
            $0.lastReport = (bytes: 700_000, questions: 0)
        }
        let first = forecast { $0.known = 300 }
        #expect(unknown.databaseBytes == first.databaseBytes)
        #expect(unknown.reportBytes == first.reportBytes)
    }

    private func warning(
        _ jobs: KeyValuePairs<String, Int>, _ disks: LocalChecks.Disk...
    ) -> String? {
        let forecasts = jobs.map { job, rows in
            (job: job, space: forecast { $0.firstFills = rows })
        }
        return LocalChecks.shortage(of: forecasts, on: disks)?.detail
    }

    private func disk(
        free: UInt64, database: Bool = true, reports: Bool = true
    ) -> LocalChecks.Disk {
        LocalChecks.Disk(
            device: 1, place: "/srv", free: free, database: database, reports: reports)
    }

    @Test func `is warned of for the job that needs most, with its parts`() {
        let small = disk(free: 4 << 20)
        #expect(
            warning(["audit": 1_000, "backfill": 10_000, "nightly": 2_000], small)
                == "4 MiB free at /srv, and a run of backfill is expected to need 59 MiB for the "
                + "database and 12 MiB for its report")
        #expect(warning(["audit": 100], small) == nil)
        #expect(warning(["audit": .max], disk(free: 4 << 20)) != nil)
    }

    @Test func `is compared with the free space of each disk for what is there`() {
        let database = disk(free: 70 << 20, reports: false)
        let reports = disk(free: 4 << 20, database: false)
        #expect(
            warning(["audit": 1_000, "backfill": 10_000], database, reports)
                == "4 MiB free at /srv, and a run of backfill is expected to need 12 MiB for its "
                + "report")
    }

    @Test func `bears any numbers`() {
        let space = forecast {
            $0.firstFills = .max
            $0.periods = 1e300
            $0.known = .max
            $0.lastReport = (bytes: .max, questions: 1)
        }
        #expect(space.databaseBytes > 0 && space.reportBytes > 0)
        #expect(forecast { $0.firstFills = -5 }.databaseBytes == 0)
    }
}
