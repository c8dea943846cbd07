import Reports
import Subscriptions
import Testing

/// Reading a plan file back: only exactly what was written is a plan.
@Suite struct `A plan file` {
    private func written() throws -> (folder: TemporaryFolder, text: String, seal: PlanSeal) {
        var run = try Samples.run()
        let seal = try Samples.seal(of: run)
        run.runSummary.plan = seal
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        return (folder, try folder.text("latest/plan.json"), seal)
    }

    private func failure(of text: String, in folder: TemporaryFolder) throws -> PlanFileError? {
        let path = try folder.write(bytes: Array(text.utf8), to: "copy.json")
        do {
            _ = try PlanDocument.read(path)
            return nil
        } catch {
            return error
        }
    }

    @Test func `says which plan it is`() throws {
        let (folder, text, seal) = try written()
        let document = try PlanDocument.read(folder.path + "/latest/plan.json")
        #expect(document.sha256 == seal.sha256)
        #expect(document.head == seal.head)
        #expect(document.changes == 2)
        #expect(document.fileSHA256 == (try sha256(text)))
        #expect(text.contains("\"plan_sha256\":\"\(seal.sha256)\",\"planned_by\":\"the-check\""))
    }

    @Test func `is the same plan whatever became of its corrections`() throws {
        let (folder, _, seal) = try written()
        var run = try Samples.run("20261121T031704Z-7f3c9b")
        run.planned = run.planned.map { ($0.0, .planned) }
        run.runSummary.plan = seal
        _ = try folder.report(run)
        #expect(try PlanDocument.read(folder.path + "/latest/plan.json").sha256 == seal.sha256)
    }

    @Test func `with any byte changed is refused`() throws {
        let (folder, text, _) = try written()
        let bytes = Array(text.utf8)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1 << (index % 7)
            let path = try folder.write(bytes: changed, to: "copy.json")
            #expect(throws: PlanFileError.self, "byte \(index)") {
                try PlanDocument.read(path)
            }
        }
    }

    @Test func `cut anywhere, or with more behind it, is refused`() throws {
        let (folder, text, _) = try written()
        for end in stride(from: 0, to: text.utf8.count, by: 3) {
            let cut = String(decoding: Array(text.utf8.prefix(end)), as: UTF8.self)
            #expect(try failure(of: cut, in: folder) != nil, "cut at \(end)")
        }
        #expect(try failure(of: text + "\n", in: folder) != nil)
        #expect(try failure(of: text + text, in: folder) != nil)
    }

    @Test func `edited and sealed again is another plan`() throws {
        let (folder, text, seal) = try written()
        let lines = text.split(separator: "\n").map(String.init)
        let body =
            lines.dropLast().joined(separator: "\n")
            .replacing("\"expected_row_version\":4", with: "\"expected_row_version\":5") + "\n"
        let sealed = body + "],\"sha256\":\"\(try sha256(body))\"}\n"
        guard case .edited = try failure(of: sealed, in: folder) else {
            Issue.record("an edited plan was taken")
            return
        }
        #expect(!seal.sha256.isEmpty)
    }

    @Test func `written again by another program is edited, anything else is not a plan`() throws {
        let (folder, text, _) = try written()
        let onOneLine = text.replacing("\n", with: "")
        for copy in [onOneLine, text.replacing(",", with: ",\n  ")] {
            guard case .edited = try failure(of: copy, in: folder) else {
                Issue.record("not recognised as a plan: \(copy.prefix(80))")
                continue
            }
        }
        let others = [
            "", "\n", "{}", "[]\n", "not json\n", String(repeating: "x", count: 3_000_000),
            try folder.text("latest/undo.json"), try folder.text("latest/summary.json"),
        ]
        for other in others {
            guard case .noPlan = try failure(of: other, in: folder) else {
                Issue.record("taken for a plan: \(other.prefix(80))")
                continue
            }
        }
        guard case .noPlan(let text) = try failure(of: others[6], in: folder) else { return }
        #expect(text.contains("trueup undo \(folder.path)"))
        #expect(throws: PlanFileError.self) { try PlanDocument.read(folder.path + "/absent") }
        #expect(throws: PlanFileError.self) { try PlanDocument.read(folder.path) }
    }

    @Test func `its identity can be computed by hand`() throws {
        let (folder, _, seal) = try written()
        let recipe = #"""
            for member in format mode plan_only plan_sha256 run_id settings_digest started; do
              remove="$remove;1s/\"$member\":[^,]*,//"
            done
            sed -e '$d' -e "$remove" -e '1s/,"tool_version":"[^"]*"//' \
              -e '1s/,"corrections":\[$/}/' -e '2,$s/,$//' -e '2,$s/"fate":"[a-z]*",//' \
              latest/plan.json | sha256sum
            """#
        #expect(try shell(recipe, in: folder.path).output.prefix(64) == seal.sha256)
    }
}
