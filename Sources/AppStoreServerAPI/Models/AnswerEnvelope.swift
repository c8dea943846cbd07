/// What an answer says, unsigned, of the app that it is about.
package protocol AnswerEnvelope {
    var environment: String? { get }
    var bundleId: String? { get }
    var appAppleId: Int64? { get }
}
