import Reconciliation
import Subscriptions
import Testing

@Suite struct `The own fault guard` {
    private let hour: Int64 = 3_600_000

    private func sentence(
        _ corrections: [PlannedCorrection], _ limits: GuardLimits = GuardLimits()
    ) -> String? {
        limits.sentence(of: .maxOwnFault, about: GuardedPlan.plan(corrections))
    }

    /// Rows whose date stands so far from Apple's.
    private func shifted(
        _ ids: Range<Int>, by milliseconds: Int64, field: SubscriptionField = .expiresDate,
        with others: [SubscriptionField: FieldChange] = [:], in environment: String = "Production"
    ) -> [PlannedCorrection] {
        ids.map { id in
            var changes = others
            changes[field] = GuardedPlan.date(id) { $0 + milliseconds }
            return GuardedPlan.update(id, changes, in: environment)
        }
    }

    @Test(arguments: [
        (8.0, "8 h later"), (-5, "5 h earlier"), (5.75, "5 h 45 min later"),
        (-0.25, "15 min earlier"), (14, "14 h later"), (-14, "14 h earlier"),
    ])
    func `an offset that most dates share is a time zone`(hours: Double, text: String) throws {
        let shift = Int64(hours * Double(hour))
        let sentence = try #require(self.sentence(shifted(0..<10, by: shift)))
        #expect(sentence.contains("are \(text) than Apple's"))
        #expect(sentence.contains("All 10 dates"))
        #expect(sentence.contains("420001000000000, 420001000000001"))
        #expect(sentence.contains("Fix that program"))
    }

    @Test(arguments: [SubscriptionField.gracePeriodExpiresDate, .revocationDate])
    func `other dates show it too`(field: SubscriptionField) {
        #expect(sentence(shifted(0..<10, by: 8 * hour, field: field)) != nil)
    }

    @Test func `dates that we keep to the second are no other offset`() {
        let cut = (0..<10).map { id in
            GuardedPlan.update(
                id, [.expiresDate: GuardedPlan.date(id) { ($0 + 8 * hour) / 1000 * 1000 }])
        }
        #expect(sentence(cut) != nil)
    }

    @Test func `a zone with summer time has two offsets an hour apart`() throws {
        let both = shifted(0..<5, by: hour) + shifted(5..<10, by: 2 * hour)
        let sentence = try #require(self.sentence(both))
        #expect(sentence.contains("1 h or 2 h later"))
        #expect(self.sentence(shifted(0..<5, by: hour) + shifted(5..<10, by: 3 * hour)) == nil)
    }

    @Test(arguments: [24, -24, 48, 72, 14.25, -15])
    func `an extension by whole days, or more than a time zone, is none`(hours: Double) {
        #expect(sentence(shifted(0..<100, by: Int64(hours * Double(hour)))) == nil)
    }

    @Test func `offsets that are no quarter of an hour are none`() {
        #expect(sentence(shifted(0..<100, by: 8 * hour + 90_000)) == nil)
    }

    @Test func `offsets that only some share are none`() {
        let some = shifted(0..<79, by: 8 * hour) + shifted(79..<100, by: 48 * hour)
        #expect(sentence(some) == nil)
        let most = shifted(0..<80, by: 8 * hour) + shifted(80..<100, by: 48 * hour)
        #expect(sentence(most)?.contains("80 of the 100 dates") == true)
    }

    @Test(arguments: [
        SubscriptionField.latestTransactionID, .webOrderLineItemID, .productID,
    ])
    func `another period may well differ by hours`(field: SubscriptionField) {
        let renewed = FieldChange(before: .text("1"), after: .text("2"))
        #expect(sentence(shifted(0..<100, by: hour, with: [field: renewed])) == nil)
    }

    @Test func `an id that we did not hold contradicts nothing, save in the sandbox`() {
        let filled = [
            SubscriptionField.latestTransactionID: FieldChange(before: .null, after: .text("2"))
        ]
        #expect(sentence(shifted(0..<100, by: hour, with: filled)) != nil)
        #expect(sentence(shifted(0..<100, by: hour, with: filled, in: "Sandbox")) == nil)
        #expect(sentence(shifted(0..<100, by: hour, in: "Sandbox")) != nil)
    }

    @Test func `seconds stored for milliseconds are a unit`() throws {
        let seconds = (0..<10).map { id in
            GuardedPlan.update(id, [.expiresDate: GuardedPlan.date(id) { $0 / 1000 }])
        }
        let sentence = try #require(self.sentence(seconds))
        #expect(sentence.contains("10 dates are Apple's divided by 1,000"))
        #expect(sentence.contains("seconds are stored where milliseconds belong"))
    }

    @Test func `a mapped table has its mapping named before its program`() throws {
        let seconds = (0..<10).map { id in
            GuardedPlan.update(id, [.expiresDate: GuardedPlan.date(id) { $0 / 1000 }])
        }
        var plan = GuardedPlan.plan(seconds)
        plan.isOfMappedTable = true
        let sentence = try #require(GuardLimits().sentence(of: .maxOwnFault, about: plan))
        #expect(sentence.contains("First compare `form` and `zone` of the column in your mapping"))
        #expect(!sentence.contains("Fix that program first"))
        #expect(sentence.contains("max_own_fault allows 5 rows"))
    }

    @Test func `microseconds stored for milliseconds are a unit, rounded to a second or not`() {
        for round in [Int64(1), 1_000_000] {
            let micros = (0..<10).map { id in
                GuardedPlan.update(
                    id, [.expiresDate: GuardedPlan.date(id) { $0 * 1000 / round * round }])
            }
            #expect(sentence(micros)?.contains("multiplied by 1,000") == true, "\(round)")
        }
    }

    @Test func `the unit is wrong however many other rows differ`() {
        let seconds = (0..<10).map { id in
            GuardedPlan.update(id, [.expiresDate: GuardedPlan.date(id) { $0 / 1000 }])
        }
        #expect(sentence(seconds + shifted(10..<500, by: 48 * hour)) != nil)
    }

    @Test func `absurd dates trap nothing`() {
        for absurd in [Int64.max, .min, 0, -1] {
            let rows = (0..<10).map { id in
                GuardedPlan.update(
                    id,
                    [
                        .expiresDate: FieldChange(
                            before: .time(Timestamp(unixMilliseconds: absurd)),
                            after: .time(
                                Timestamp(unixMilliseconds: id.isMultiple(of: 2) ? 0 : .min))
                        )
                    ])
            }
            #expect(sentence(rows) == nil, "\(absurd)")
        }
    }

    @Test func `a few rows are within the limit, and none means no limit`() {
        #expect(sentence(shifted(0..<5, by: 8 * hour)) == nil)
        #expect(sentence(shifted(0..<6, by: 8 * hour)) != nil)
        #expect(
            sentence(shifted(0..<3, by: 8 * hour), GuardedPlan.limits { $0.maxOwnFault = 0 }) == nil
        )
        #expect(
            sentence(shifted(0..<5, by: 8 * hour), GuardedPlan.limits { $0.maxOwnFault = 0 }) != nil
        )
        #expect(
            sentence(shifted(0..<500, by: 8 * hour), GuardedPlan.limits { $0.maxOwnFault = nil })
                == nil)
    }
}
