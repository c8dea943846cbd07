/// The settings file that `trueup init` writes: it is read as it stands, and has to be filled in.
package enum SettingsTemplate {
    package static let text = """
        # Settings of trueup. Relative paths start at this file. Ids need no quotes.
        # Environment variables win over this file: TRUEUP_STORE_URL, TRUEUP_REPORT_DIRECTORY.

        apps:                         # one or several, each with its own quota
          - bundle_id: com.example.app
            app_apple_id: 1234567890  # from App Store Connect, App Information; required for production
            environment: production   # production | sandbox; never inferred, never a fallback
            # From App Store Connect, Users and Access, Integrations, In-App Purchase:
            issuer_id: 57246542-96fe-1a63-e053-0824d011072a
            key_id: 2X9R4HXF34
            key_file: keys/SubscriptionKey_2X9R4HXF34.p8  # mode 0600 or 0400
            # key_env: APP_STORE_KEY  # instead of key_file: the variable that holds the PEM itself
            quota_share: 0.5          # share of Apple's documented limits that this job may use
            # requests_per_second: 25 # instead of the share, for every endpoint
            # proxy: http://proxy.internal:3128
            # evidence_retention: 800d # signed payloads older than this become tombstones; default: kept
            # revocation: soft        # off | soft | hard: ask by OCSP whether Apple's certificates are
            #                         # revoked; soft goes on without an answer and says so, hard
            #                         # leaves such rows undecided
            # The rest is for rehearsals against a server on this machine only:
            # endpoint: https://127.0.0.1:8443
            # ca_file: tls-root.pem
            # trusted_roots: [signing-root.pem]

        store:
          url: sqlite:trueup.sqlite

        report:
          directory: reports

        # Bookkeeping older than this is deleted after a run; docs/database.md says what:
        # retention: 400d

        # Another service can be told of every correction; docs/telling.md has it over HTTPS, too:
        # tell: {command: [/usr/local/bin/on-correction]}

        """
}
