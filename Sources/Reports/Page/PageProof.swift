import Subscriptions

/// How a reader checks the page, what to write down, and where to sign.
struct PageProof {
    let summary: RunSummary
    let trustedRoots: [TrustedRoot]

    func appendCheck(to page: inout Markup) {
        page.element(
            "p",
            "Nothing here asks for trust in the program. Work in the run’s report folder; README.txt "
                + "has every command, down to Apple’s signature with openssl.")
        page.element("ol") { list in
            step("The files are as they were written:", "sha256sum -c SHA256SUMS", &list)
            step(
                "Signatures, hash chain, totals and this page’s own digest hold:",
                "trueup verify .",
                &list)
            appendAnchor(to: &list)
            step(
                "This page is made from the stored run alone, and can be made again:",
                "trueup report \(summary.header.runID) --file report.html | sha256sum", &list)
        }
        let columns = [Markup.Column("what"), Markup.Column("value")]
        page.table("The run", columns) { table in
            for (name, value) in identity { table.row([name, value], columns) }
        }
    }

    /// What to write down: an empty ledger has no head yet, and what stands for one is in every chain.
    private func appendAnchor(to list: inout Markup) {
        let isEmpty = summary.ledgerHead == LedgerEntry.firstPreviousHash
        let opening =
            "A report cannot show that it was replaced as a whole. A number that was written down "
            + "elsewhere on the day can. It is "
        let digest = "the digest of the manifest, which the next run’s manifest repeats:"
        step(
            opening + (isEmpty ? digest : "one of these two: the ledger’s head, and " + digest),
            (isEmpty ? "" : summary.ledgerHead + "\n") + "sha256sum manifest.json", &list)
        step(
            "Later, from the folder with all runs, that number must still be in the chain:",
            "trueup verify --anchor " + (isEmpty ? "DIGEST" : summary.ledgerHead), &list)
    }

    private func step(_ text: String, _ command: String, _ list: inout Markup) {
        list.element("li") { item in
            item.element("p", text)
            item.element("pre", [.init("tabindex", "0")]) { block in
                for (index, line) in command.split(separator: "\n").enumerated() {
                    if index > 0 { block.lineFeed() }
                    block.element("code", String(line))
                }
            }
        }
        list.lineFeed()
    }

    private var identity: [(String, String)] {
        let header = summary.header
        let ended = summary.conclusion.ended
        var facts = [
            ("run", header.runID),
            ("job and mode", "\(header.job), \(header.mode.rawValue)"),
            ("by", header.actor),
            ("began", header.started.rfc3339),
            ("ended", "\(ended.rfc3339), after \(header.started.duration(until: ended))"),
        ]
        facts += header.apps.sorted().map { ("app", "\($0.bundleID), \($0.environment.rawValue)") }
        facts += trustedRoots.map {
            ("trusted root", $0.fingerprint + ($0.isApple ? " (Apple’s)" : " (not Apple’s)"))
        }
        facts += [
            ("settings digest", header.settingsDigest), ("ledger head", summary.ledgerHead),
            ("program", "trueup \(header.toolVersion)"),
        ]
        if let plan = summary.plan { facts.append(("plan", plan.sha256)) }
        if let earlier = summary.resumedFrom { facts.append(("goes on with", earlier)) }
        if let undone = summary.undoOf { facts.append(("takes back", undone)) }
        return facts
    }

    func appendSignatures(to page: inout Markup) {
        page.element(
            "p",
            "Before signing: the anchor is written down elsewhere, and the checks above were made by the "
                + "person who signs.")
        let columns = ["", "name", "date", "anchor written down in", "signature"].map {
            Markup.Column($0.isEmpty ? "who" : $0)
        }
        page.table("Seen and checked", columns, named: "sign") { table in
            for role in ["prepared by", "reviewed by", "auditor"] {
                table.row([role, "", "", "", ""], columns)
            }
        }
    }
}
