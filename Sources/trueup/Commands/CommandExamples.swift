/// Lines to type, which stand at the end of each command's help; docs/commands.md has more.
package enum CommandExamples {
    package static let all: [String: [String]] = [
        "init": ["trueup init", "trueup init --config /etc/trueup/trueup.yaml"],
        "run": ["trueup run nightly", "trueup run backfill --max-duration 8h"],
        "check": ["trueup check nightly", "trueup check nightly --limit 100 --json"],
        "estimate": ["trueup estimate nightly", "trueup estimate backfill --json"],
        "apps": ["trueup apps", "trueup apps --json"],
        "show": ["trueup show plan", "trueup show plan 20261120T031704Z-7f3c9a"],
        "apply": ["trueup apply reports/latest", "trueup apply reports/latest --canary 20"],
        "undo": ["trueup undo reports/latest", "trueup undo 20261120T031704Z-7f3c9a --execute"],
        "acknowledge": [
            "trueup acknowledge 3f9a1c --reason \"a family shares this account\"",
            "trueup acknowledge 3f9a1c --undo",
        ],
        "import": [
            "trueup import --dry-run rows.csv", "trueup import rows.csv",
            "trueup import --map otid=original_transaction_id --ignore plan users.csv",
            "trueup import --transactions periods.jsonl",
            "trueup import --receipts receipts.jsonl",
        ],
        "export": ["trueup export > rows.csv", "trueup export --transactions > periods.csv"],
        "status": ["trueup status", "trueup status --json"],
        "explain": ["trueup explain 2000000123456789", "trueup explain 2000000123456789 --json"],
        "inspect": ["trueup inspect payload.jws", "trueup inspect reports/latest/evidence.jsonl"],
        "doctor": ["trueup doctor", "trueup doctor --quiet"],
        "tell": ["trueup tell", "trueup tell --retry-given-up"],
        "erase": ["trueup erase customer-000042", "trueup erase customer-000042 --execute"],
        "restored": [
            "trueup restored --reason \"disk failed on 2026-11-20, backup of the 19th\"",
            "trueup restored --reason \"moved to another host\" --json",
        ],
        "report": [
            "trueup report latest --file report.html > report.html",
            "trueup report night 2026-11-20",
            "trueup report night 2026-11-20 --reports /srv/one/reports --reports /srv/two/reports",
        ],
        "pause": ["trueup pause nightly", "trueup pause nightly --json"],
        "resume": ["trueup resume nightly", "trueup resume nightly --json"],
        "throttle": ["trueup throttle nightly 5", "trueup throttle nightly off"],
        "verify": ["trueup verify reports", "trueup verify reports --database"],
    ]

    /// The section of a help text; empty for the program's own.
    ///
    /// - Parameter help: The text, which says by its usage of which command it is.
    /// - Returns: Lines that end with an empty one.
    static func section(ofHelp help: String) -> String {
        guard let match = help.firstMatch(of: /USAGE: trueup ([a-z]+)/),
            let examples = all[String(match.1)]
        else { return "" }
        return "EXAMPLES:\n" + examples.map { "  \($0)\n" }.joined() + "\n"
    }
}
