package import Subscriptions

extension ReportFile {
    /// Format of `plan.json` and `undo.json`.
    private static let planFormat: Int64 = 1

    /// The members by which a plan is known: its identity in the head, and the list.
    static let planIdentity = "plan_sha256"
    static let planList = "corrections"

    static let plan = ReportFile(
        name: "plan.json",
        purpose: "what would be or was applied: rows, expected versions, before, after, evidence",
        mayBePacked: true
    ) { source, file in
        try writePlan(
            source.record, of: source.summary.header, seal: source.summary.plan,
            context: source.context, to: &file)
    }

    /// Writes the document of `plan.json` from what is stored of a plan, also before its first
    /// write.
    fileprivate static func writePlan(
        _ record: any RunRecord, of header: RunHeader, seal: PlanSeal?, context: ReportContext,
        to file: inout OutputFile
    ) throws {
        var head: [String: CanonicalJSON] = [
            "format": .integer(planFormat),
            "job": .string(header.job),
            "mode": .string(header.mode.rawValue),
            "plan_only": .boolean(context.isPlanOnly),
            "run_id": .string(header.runID),
            "scope": header.scope,
            "settings_digest": .string(header.settingsDigest),
            "started": .time(header.started),
            "tool_version": .string(context.toolVersion),
        ]
        if let notice = context.notice(for: header) { head["notice"] = .string(notice) }
        if let seal {
            head[planIdentity] = .string(seal.sha256)
            head.merge(seal.head.members) { $1 }
            if let file = seal.head.jobFile { head["job_file"] = .string(file) }
            if let guards = seal.head.guards { head["guards"] = .string(guards) }
        }
        try file.writeSealed(head, list: planList) { append in
            try record.forEachPlanned { correction, fate in
                try append(correction.planItem(fate: fate))
            }
        }
    }

    static let undo = ReportFile(
        name: "undo.json",
        purpose: "the inverse of the corrections; to be applied from the last line to the first",
        mayBePacked: true
    ) { source, file in
        let header = source.summary.header
        let head: [String: CanonicalJSON] = [
            "format": .integer(planFormat),
            "job": .string(header.job),
            "order": .string("last_to_first"),
            "run_id": .string(header.runID),
            "scope": header.scope,
            "settings_digest": .string(header.settingsDigest),
            "tool_version": .string(source.context.toolVersion),
        ].merging(source.noticeMember) { own, _ in own }
        try file.writeSealed(head, list: "inverses") { append in
            try source.record.forEachCorrection { entry in
                try append(entry.inverseBytes)
            }
        }
    }
}

extension RunRecord {
    /// Writes the plan of a run that has not written yet into a file, as `plan.json` will have it.
    ///
    /// - Throws: What reading the plan throws; `ReportError.notWritten` for a full disk.
    package func writePlan(
        of header: RunHeader, seal: PlanSeal, context: ReportContext, toFileAt path: String
    ) throws {
        var file = try OutputFile(creating: path)
        try ReportFile.writePlan(self, of: header, seal: seal, context: context, to: &file)
        _ = try file.close(named: "plan.json")
    }
}

extension OutputFile {
    /// Writes a JSON document of a head, a streamed list and its own digest, one item a line.
    ///
    /// The first line is the head, then each item has a line of its own, and the last line closes the
    /// list and states the SHA-256 of all bytes before that line (`head -n -1 FILE | sha256sum`). A
    /// reader can therefore stream it, and finds out when another program edited it. `items` hands
    /// the text of each item to its argument, in order.
    fileprivate mutating func writeSealed(
        _ head: [String: CanonicalJSON], list: String,
        items: (_ append: ([UInt8]) throws -> Void) throws -> Void
    ) throws {
        try write(CanonicalJSON.object(head).rendered.dropLast() + ",\"\(list)\":[")
        var isFirst = true
        try items { item in
            try append { bytes in
                bytes += (isFirst ? "\n" : ",\n").utf8
                bytes += item
            }
            isFirst = false
        }
        try write("\n")
        let digest = try digestSoFar()
        try write("],\"sha256\":\"\(digest)\"}\n")
    }
}
