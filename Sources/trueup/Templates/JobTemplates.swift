/// The job files that `trueup init` writes: the same bytes as those in the repository's `jobs/`.
package enum JobTemplates {
    /// File name and text, in the order in which they are written.
    package static let all: [(name: String, text: String)] = [
        ("nightly.yaml", nightly), ("backfill.yaml", backfill), ("recover.yaml", recover),
        ("audit.yaml", audit),
    ]

    private static let nightly = """
        # The nightly job: read what Apple has told since last night, ask for whoever may have changed,
        # correct what differs. Every key is optional; these are the defaults.

        steps: [recover, walk]        # recover = notification history; walk = statuses and, when needed, history
        mode: apply                   # check | apply; check leaves a plan for "trueup apply" instead
        coverage: delta               # delta = who may have changed + a sweep + a sample; full = everyone
        history: when-needed          # when-needed | always | never
        sweep_days: 7                 # every row is asked at least this often
        sample: 0.01                  # share of the quiet rows asked at random each night
        settle: 15m                   # rows whose signed_date is younger are left alone as in flight
        max_duration: 4h              # then the run stops, says what is left, and the next one goes on
        max_outage: 30m               # an endpoint that does not work is waited for this long
        fail_on: high                 # none | low | medium | high | critical
        not_found_confirmations: 3    # distinct UTC days before "not found" is confirmed

        recover:
          overlap: 7d                 # re-read behind the watermark: notifications show up late
          lookback: 30d               # on the very first run; kept inside what Apple remembers
          inbox: none                 # none | imported; without an inbox nothing can be called lost

        guards:                       # checked on the whole plan, before the first write
          max_changes: 500
          max_change_share: 0.05
          min_changes: 5              # never stop a run for fewer than this many
          max_not_found_share: 0.01
          max_verification_failures: 10
          max_same_direction_share: 0.3  # access ended for more of the rows than this, or given to them
          max_shrink_share: 0.5       # the table lost more than this since the last run
          max_own_fault: 5            # dates off by one time zone, or by a factor of 1000; none = no limit
          max_excluded_share: 0.05    # more of the rows than this belong to no configured app, or are in flight

        authority:                    # field: apple | report-only
          price: report-only

        """

    private static let backfill = """
        # The first fill: ask for everyone, with their whole history, starting from a list of ids.
        # It may take several nights: a run that reaches max_duration stops, and the next one goes on.

        steps: [walk]
        mode: apply
        coverage: full
        history: always
        max_duration: 20h             # leaves room before the next start when it is run every night
        fail_on: high

        guards:                       # a first fill changes nearly every row; that is its purpose
          max_changes: 100000000
          max_change_share: 1.0
          max_not_found_share: 0.2    # a fifth of unknown ids means the wrong app or environment
          max_verification_failures: 10
          max_same_direction_share: 1.0
          max_excluded_share: 0.2     # a fifth of another app's rows means the wrong settings

        """

    private static let recover = """
        # Only gap recovery: read Apple's notification history and settle what it touched.
        # For the hours after an outage of your notification endpoint, or several times a day.

        steps: [recover]
        mode: apply
        max_duration: 1h
        fail_on: high

        recover:
          overlap: 7d
          lookback: 30d
          inbox: none                 # imported, once received notifications are imported

        guards:
          max_changes: 500
          max_change_share: 0.05
          min_changes: 5
          max_verification_failures: 10
          max_same_direction_share: 0.3

        """

    private static let audit = """
        # An audit: ask for everyone and report, but write to no subscription row.
        # The plan that a nightly job would have applied is left in the report folder: read it, then
        # "trueup apply reports/latest" applies exactly it.

        steps: [recover, walk]
        mode: check
        coverage: full
        history: always
        max_duration: 12h
        fail_on: low

        recover:
          overlap: 7d
          lookback: 30d
          inbox: none

        """
}
