import HTTPTransport
import Testing

@Suite struct `An hourly budget` {
    @Test func `lets the call over the limit wait until the first has left the hour`() {
        var budget = HourlyBudget(limit: 2)
        budget.callWasMade(at: .milliseconds(10_900))
        budget.callWasMade(at: .seconds(20))
        #expect(budget.earliest(from: .seconds(30)) == .seconds(3611))
        budget.callWasMade(at: .seconds(3611))
        #expect(budget.earliest(from: .seconds(3612)) == .seconds(3621))
        #expect(budget.earliest(from: .seconds(9999)) == .seconds(9999))
    }

    @Test func `forgets hours that are over`() {
        var budget = HourlyBudget(limit: 1)
        for hour in 0..<2000 {
            let time: Duration = .seconds(hour * 3700)
            #expect(budget.earliest(from: time) == time)
            budget.callWasMade(at: time)
        }
    }
}
