import JSONWebSignature
import Subscriptions

/// Checks `business.jsonl` line by line, together with `business.csv`.
///
/// The counts themselves are of notifications of many runs, so that no single report proves them.
/// What it says of one day must be what it says of that day elsewhere, and a day that was not read
/// states no zero. Earlier versions called a day `not` of which a run had counted a part before it
/// was stopped; nothing in a report tells such a version from this one, so a number above zero
/// passes there.
struct BusinessCheck {
    static let name = "business.jsonl"
    private static let csvName = "business.csv"
    private static let readings = ["whole", "partly", "not"]

    let run: RunFolder
    let problems: RunProblems

    /// Days of one series that came before: what was counted, `nil` where the day was not read
    /// whole.
    private typealias Days = [Int64: Int64?]

    /// - Parameter counts: Gets the sums of each day by app and event.
    /// - Throws: What reading the file throws.
    func check(counts: inout RunCounts) throws(UnreadableFile) {
        let lines = try LineFile(run.file(Self.name))
        let csv = SideFile<CSVRecords>(Self.csvName, in: run, problems: problems)
        var known: [[String]: Days] = [:]
        while let line = try lines.next() {
            guard let record = JSONRecord(line), record.isCanonical else {
                problems.add(Self.name, line: lines.lineNumber, "it is not a canonical JSON object")
                continue
            }
            if !problems.isOfRun(record) {
                problems.add(Self.name, line: lines.lineNumber, "it is a line of another run")
            }
            for problem in check(record, &known) {
                problems.add(Self.name, line: lines.lineNumber, problem)
            }
            if let events = record.integer("events") { counts.take(events, of: record) }
            check(record, lines.lineNumber, against: csv)
        }
        csv.checkEnd("it has more lines than \(Self.name)")
    }

    private func check(_ record: JSONRecord, _ known: inout [[String]: Days]) -> [String] {
        guard let day = Self.number(ofDay: record.text("day")) else {
            return ["its day is not a date"]
        }
        guard let reading = record.text("day_read"), Self.readings.contains(reading) else {
            return ["its day_read is not one of \(Self.readings.joined(separator: ", "))"]
        }
        let events = record.integer("events")
        var found: [String] = []
        let isSound =
            switch reading {
            case "whole": events.map { $0 >= 0 } ?? false
            default: record.states("events") ? events.map { $0 > 0 } ?? false : true
            }
        if !isSound {
            found.append("its events do not fit its day_read, which is \(reading)")
        }
        let series = ["app", "environment", "product_id", "event"].map { record.text($0) ?? "" }
        let before = known[series] ?? [:]
        if let week = before[day - 7], record.integer("week_before") != week {
            found.append("its week_before is not what the file has of that day")
        }
        let weeks = (1...4).map { before[day - 7 * Int64($0)] }
        if weeks.allSatisfy({ $0 != nil }) {
            let counted = weeks.compactMap { $0 ?? nil }
            let sum = counted.reduce(Int64(0)) { $0.addingReportingOverflow($1).partialValue }
            if record.integer("weekdays_before") != (counted.isEmpty ? nil : sum)
                || record.integer("weekdays_read") != Int64(counted.count)
            {
                found.append("its weekdays are not what the file has of these days")
            }
        }
        if let problem = checkFall(record, reading: reading, events: events) {
            found.append(problem)
        }
        if known[series, default: [:]].updateValue(reading == "whole" ? events : nil, forKey: day)
            != nil
        {
            found.append("an earlier line has the same day, app, product and event")
        }
        return found
    }

    /// At least half is gone of what a weekday had, and two of them were read.
    private func checkFall(_ record: JSONRecord, reading: String, events: Int64?) -> String? {
        guard record.states("falls_sharply") else { return nil }
        let weekdays = record.integer("weekdays_read") ?? 0
        guard reading == "whole", weekdays >= 2, let events else {
            return "its falls_sharply is stated for a day that is compared with nothing"
        }
        guard record.integer("falls_sharply") == 1 else { return nil }
        let half = Double(events) * 2 * Double(weekdays)
        guard half <= Double(record.integer("weekdays_before") ?? 0) else {
            return "its falls_sharply is not what its numbers give"
        }
        return nil
    }

    private func check(_ record: JSONRecord, _ line: Int, against csv: SideFile<CSVRecords>) {
        guard let fields = csv.next(beside: line, of: Self.name) else { return }
        let columns = csv.reader?.columns ?? []
        let other =
            fields.firstColumn(unlike: record)
            ?? record.names.first { !columns.contains($0) && record.states($0) }
        if let other { csv.report("it differs from line \(line) of \(Self.name) in \(other)") }
    }

    private static func number(ofDay text: String?) -> Int64? {
        let parts = (text ?? "").split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2] else { return nil }
        let numbers = parts.compactMap { Int64($0) }
        guard numbers.count == 3 else { return nil }
        return CivilDate(year: numbers[0], month: numbers[1], day: numbers[2])?.daysSince1970
    }
}

extension RunCounts {
    /// Adds the events of a line of `business.jsonl`.
    fileprivate mutating func take(_ events: Int64, of record: JSONRecord) {
        let place = ["day", "app", "environment", "event"].map { record.text($0) ?? "" }
        let (sum, _) = business[place, default: 0].addingReportingOverflow(events)
        business[place] = sum
    }

    /// Whether the sums that `summary.json` states of its day are those of the lines.
    func agreeWith(business: JSONRecord) -> Bool {
        guard let day = business.text("day") else { return false }
        var stated: [[String]: Int64] = [:]
        for app in business["apps"]?.elements ?? [] {
            guard let app = JSONRecord(app), let events = app.record("events") else { return false }
            for event in events.names where events.states(event) {
                let place = [day, app.text("app") ?? "", app.text("environment") ?? "", event]
                stated[place] = events.integer(event)
            }
        }
        return stated == self.business.filter { $0.key.first == day }
    }
}
