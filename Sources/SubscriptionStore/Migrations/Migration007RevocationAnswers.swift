extension Migration {
    /// Signed OCSP answers, kept from run to run until they end.
    static let revocationAnswers = Migration(
        number: 7,
        sql: """
            CREATE TABLE trueup_revocation_answers (
                certificate TEXT NOT NULL,
                issuer TEXT NOT NULL,
                responder TEXT NOT NULL,
                answer BLOB NOT NULL,
                kept_until INTEGER NOT NULL,
                PRIMARY KEY (certificate, issuer, responder)
            ) WITHOUT ROWID;
            """)
}
