import Reports
import Testing
import trueup

/// What nobody writes by hand.
@Suite struct `Files made from the settings` {
    @Test func `docs/settings.md says what the declarations say, line by line`() throws {
        try CheckedInFile(path: "docs/settings.md", expected: SettingsPage.text).compare()
    }

    @Test(arguments: JobTemplates.all.map(\.name))
    func `jobs are those that init writes`(name: String) throws {
        let text = try #require(JobTemplates.all.first { $0.name == name }?.text)
        try CheckedInFile(path: "jobs/" + name, expected: text).compare()
    }

    @Test func `the schemas for editors say what the declarations say`() throws {
        for (name, schema) in [
            ("settings", SettingsSchema.settings), ("job", SettingsSchema.job),
        ] {
            try CheckedInFile(
                path: "docs/schemas/\(name).schema.json", expected: schema.indented
            ).compare()
        }
    }

    @Test func `the manual pages name every variable that stands for a setting`() throws {
        let script = try CheckedInFile(path: "jobs/lib/man-pages", expected: "").text()
        for name in SettingsPage.variableNames {
            #expect(script.contains("(\"\(name)\", "), "\(name)")
        }
    }

    @Test func `are compared so that a wrong and a missing line are named`() {
        #expect(
            CheckedInFile.problems(of: "a\nx\nc\n", against: "a\nb\nc\nd\n")
                == ["2: missing: b", "2: not declared: x", "4: missing: d"])
        #expect(CheckedInFile.problems(of: "a\n", against: "a\n").isEmpty)
    }
}
