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

    @Test func `has room again for a call that was counted and not made`() {
        var budget = HourlyBudget(limit: 2)
        budget.callWasMade(at: .seconds(10))
        budget.callWasMade(at: .seconds(20))
        budget.callWasNotMade(at: .milliseconds(20_400))
        #expect(budget.earliest(from: .seconds(30)) == .seconds(30))
        budget.callWasMade(at: .seconds(40))
        #expect(budget.earliest(from: .seconds(50)) == .seconds(3611))
        // Nothing is left at that second, and another one was never counted.
        budget.callWasNotMade(at: .seconds(20))
        budget.callWasNotMade(at: .seconds(7000))
        #expect(budget.earliest(from: .seconds(50)) == .seconds(3611))
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
