import SubscriptionStore
import Subscriptions
import Testing

struct `Keeping revocation answers` {
    private let question = RevocationQuestion(
        certificate: "aa", issuer: "bb", responder: "http://ocsp.example/leaf")

    private func moment(_ milliseconds: Int64) -> Timestamp {
        Timestamp(unixMilliseconds: milliseconds)
    }

    @Test func `an answer is kept until its end, also by another process`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await store.keepRevocationAnswer(
            [0, 1, 255], to: question, until: moment(5000), at: moment(1000))
        try store.close()
        let next = try database.open(.readOnly)
        #expect(
            try await next.revocationAnswer(to: question, at: moment(4999)) == [0, 1, 255])
        #expect(try await next.revocationAnswer(to: question, at: moment(5000)) == nil)
    }

    @Test func `only the very question is answered`() async throws {
        let store = try TemporaryDatabase().open()
        try await store.keepRevocationAnswer(
            [1], to: question, until: moment(5000), at: moment(1000))
        for change in [\RevocationQuestion.certificate, \.issuer, \.responder] {
            var other = question
            other[keyPath: change] = "other"
            #expect(try await store.revocationAnswer(to: other, at: moment(2000)) == nil)
        }
    }

    @Test func `a later answer takes the place of an earlier one`() async throws {
        let store = try TemporaryDatabase().open()
        for byte in [UInt8(1), 2] {
            try await store.keepRevocationAnswer(
                [byte], to: question, until: moment(5000 + Int64(byte)), at: moment(1000))
        }
        #expect(try await store.revocationAnswer(to: question, at: moment(5001)) == [2])
    }

    @Test func `answers that have ended do not pile up`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        for number in 1...20 {
            var question = question
            question.certificate = "\(number)"
            try await store.keepRevocationAnswer(
                [1], to: question, until: moment(Int64(number) * 1000),
                at: moment(Int64(number) * 1000 - 500))
        }
        #expect(
            try database.rows("SELECT count(*) FROM trueup_revocation_answers") == [["1"]])
    }

    @Test func `a command that only reads keeps nothing`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open(.readOnly)
        let question = question
        await #expect(throws: StoreError.self) {
            try await store.keepRevocationAnswer(
                [1], to: question, until: moment(5000), at: moment(1000))
        }
    }
}
