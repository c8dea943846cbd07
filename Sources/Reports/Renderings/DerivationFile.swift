import Subscriptions

extension ReportFile {
    static let derivations = ReportFile(
        name: "derivations.jsonl",
        purpose: "from which signed fields each corrected status follows: Apple signs no status"
    ) { source, file in
        let notice = source.noticeMember
        try source.record.forEachEvidencedCorrection { correction in
            guard let status = CorrectedStatus(correction) else { return }
            let line = CanonicalJSON.object(status.members.merging(notice) { own, _ in own })
            try file.write(line.rendered + "\n")
        }
    }
}
