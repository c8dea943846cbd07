import Subscriptions

extension ReportFile {
    static let page = ReportFile(
        name: "report.html",
        purpose: "the whole run on one page, for a browser or on paper; needs no network"
    ) { source, file in
        let page = Page(facts: try PageFacts(source)).document
        try file.append { $0.append(contentsOf: page) }
    }
}

/// The report as one page that loads nothing: no script, no picture, no address.
///
/// Its size is bounded, because every list is, so it is made in memory and then written. It says the
/// same as `summary.txt`, in the same words, and nothing that changes after the run.
struct Page {
    let facts: PageFacts

    var document: [UInt8] {
        var page = Markup()
        page.verbatim("<!DOCTYPE html>\n")
        page.element("html", [.init("lang", "en")]) { html in
            html.element("head") { head(&$0) }
            html.lineFeed()
            html.element("body") { body(&$0) }
        }
        page.lineFeed()
        return page.bytes
    }

    private func head(_ head: inout Markup) {
        let header = facts.summary.header
        head.void("meta", [.init("charset", "utf-8")])
        head.void(
            "meta",
            [
                .init("http-equiv", "Content-Security-Policy"),
                .init("content", PageStyle.policy),
            ])
        head.void(
            "meta",
            [.init("name", "viewport"), .init("content", "width=device-width, initial-scale=1")])
        head.void("meta", [.init("name", "referrer"), .init("content", "no-referrer")])
        head.lineFeed()
        head.element(
            "title",
            "\(header.started.utcDay) \(header.job): \(facts.summary.conclusion.exitStatus.name), "
                + "run \(header.runID)")
        head.lineFeed()
        head.element("style") { $0.verbatim(PageStyle.text) }
    }

    private func body(_ body: inout Markup) {
        let opening = PageOpening(facts: facts)
        opening.append(to: &body)
        body.element("main") { main in
            opening.appendFigures(to: &main)
            for section in facts.sections {
                main.element("section", [.init("aria-labelledby", section.rawValue)]) { part in
                    part.heading(section)
                    content(of: section, &part)
                }
                main.lineFeed()
            }
        }
        body.lineFeed()
        body.element("footer") { footer in
            let header = facts.summary.header
            footer.element(
                "p",
                "Run \(header.runID) of the job \(header.job), begun \(header.started.readable) UTC. "
                    + "All times are UTC. Ids and digests are written out where they can be; files "
                    + "beside this page have every line.")
            if let notice = facts.notice { footer.element("p", notice) }
        }
        body.lineFeed()
    }

    private func content(of section: PageSection, _ part: inout Markup) {
        switch section {
        case .control: PageControl(summary: facts.summary).append(to: &part)
        case .coverage, .findings, .causes, .money, .decisions, .calls, .next:
            PageSummaries(facts: facts).append(section, to: &part)
        case .open, .examples, .corrections, .absent, .undecided:
            PageLists(facts: facts).append(section, to: &part)
        case .business: PageBusiness(BusinessView(facts.summary)).append(to: &part)
        case .nights: PageNights(facts: facts).appendCharts(to: &part)
        case .calendar: PageNights(facts: facts).appendCalendar(to: &part)
        case .check, .sign:
            let proof = PageProof(summary: facts.summary, trustedRoots: facts.trustedRoots)
            if section == .check {
                proof.appendCheck(to: &part)
            } else {
                proof.appendSignatures(to: &part)
            }
        }
    }
}
