/// Every limit of asking for revocation.
package enum RevocationLimits {
    /// Certificates whose standing is remembered; Apple uses two or three at a time.
    package static let rememberedCertificates = 128
    /// How often a run asks for a certificate again after a round that brought nothing.
    package static let failedRounds = 24
    /// The first pause after such a round; each further one is twice as long.
    package static let firstPauseMilliseconds: Int64 = 30_000
    package static let longestPauseMilliseconds: Int64 = 600_000
    /// Of an answer; real ones have less than 4 KB.
    package static let answerBytes = 65_536
    /// Of what a library or a peer says of a fault, in our own sentences.
    package static let reasonCharacters = 200
}
