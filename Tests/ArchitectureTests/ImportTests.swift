import Testing

@Suite struct `Imports` {
    @Test func `of every target are ruled`() throws {
        #expect(try Repository.sourceTargets == ImportTable.rules.map(\.target).sorted())
    }

    @Test(arguments: ImportTable.rules)
    func `of a target are exactly those of the table`(rule: ImportRule) throws {
        let imports = try Repository.imports(of: rule.target)
        for (module, file) in imports {
            #expect(rule.allowed.contains(module), "\(file) imports \(module)")
        }
        // A permission that nobody uses is a hole in the wall.
        let unused = rule.allowed.subtracting(imports.keys).sorted()
        #expect(unused.isEmpty, "\(rule.target) may import what it does not: \(unused)")
    }

    @Test func `keep the simulator from what it is to judge`() throws {
        let judged = ["AppStoreServerAPI", "JSONWebSignature", "Reconciliation", "ReportAudit"]
        let simulator = try #require(ImportTable.rules.first { $0.target == "AppStoreSimulation" })
        #expect(simulator.allowed.isDisjoint(with: judged))
        // TestSupport signs and verifies by the code that is judged.
        let tests = try #require(
            try Repository.declaredDependencies(of: "AppStoreSimulationTests"))
        #expect(tests.isDisjoint(with: judged + ["TestSupport"]))
        #expect(tests.contains("AppStoreSimulation"))
    }

    @Test(arguments: ImportTable.rules)
    func `of a target are declared, and no more is declared than its walls allow`(
        rule: ImportRule
    ) throws {
        let declared = try #require(
            try Repository.declaredDependencies(of: rule.target), "not in Package.swift")
        #expect(declared.subtracting(rule.allowed).isEmpty)
        let outsideToolchain = try Repository.imports(of: rule.target).filter {
            !ImportTable.toolchain.contains($0.key)
        }
        // What a declared product brings along under another name is left to the build's own check.
        for (module, file) in outsideToolchain where rule.ours.contains(module) {
            #expect(declared.contains(module), "\(file) imports \(module), undeclared")
        }
    }

    @Test func `can be seen to be wrong`() throws {
        // The tests above would hold for nothing if the reading of files found nothing.
        #expect(try Repository.imports(of: "RowFiles").keys.contains("Subscriptions"))
        #expect(try Repository.imports(of: "trueup").keys.contains("ArgumentParser"))
        #expect(
            try Repository.declaredDependencies(of: "trueup")?.isSuperset(of: ["Yams", "RowFiles"])
                == true)
        #expect(try Repository.declaredDependencies(of: "Subscriptions") == [])
    }
}
