import AppStoreSimulation
import Foundation
import Testing

/// Apple's official Python client calls every endpoint over HTTPS and verifies every payload.
///
/// `PythonPeer/prepare`, which `jobs/test` runs, creates its virtual environment in
/// `.build/python-peer`; `PYTHON_PEER` can name another one.
@Suite(.serialized) struct `Apple's Python client` {
    private static let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    private static var python: String? {
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
        let folder =
            ProcessInfo.processInfo.environment["PYTHON_PEER"]
            ?? root.appendingPathComponent(".build/python-peer").path
        let path = folder + "/bin/python"
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }

    private static let scenario = """
        customers:
          - name: weekly
            life: [{at: -200d, buy: news.weekly}]
            expect: [{status: 1}]
          - name: refunded
            life: [{at: -40d, buy: video.basic.monthly}, {at: -3d, refund: 40, reason: 1}]
          - name: cancelled
            life: [{at: -40d, buy: video.basic.monthly}, {at: -20d, cancel: true, deliver: never}]
          - name: in grace
            life: [{at: -64d, buy: news.monthly}, {at: -60d, billing_fails: true}, {at: -10d, buy: themes}]
          - name: trial
            life: [{at: -2d, buy: video.basic.monthly, offer: introductory_trial}]
          - name: commitment
            life: [{at: -100d, buy: storage.commitment}]
          - name: parent
            life: [{at: -40d, buy: video.premium.yearly}, {at: -30d, share_with: child}]
          - name: child
          - name: shopper
            life:
              - {at: -60d, buy: coins.100, label: coins}
              - {at: -59d, finish: true, of: coins}
              - {at: -50d, buy: themes}
              - {at: -40d, buy: season.pass}
          - name: collector
            life:
              - {at: -80d, buy: video.basic.monthly, label: video}
              - {at: -70d, buy: news.monthly, label: news}
              - {at: -50d, cancel: true, of: news}
          - name: outage
            life: [{at: -20d, buy: news.yearly}]
          - name: tester
            environment: Sandbox
            life: [{at: -20d, buy: news.monthly}]
        """

    @Test(
        .enabled(if: python != nil, "Python or Apple's client is missing: see PythonPeer/prepare"))
    func `accepts every answer and refuses every broken one`() async throws {
        let python = try #require(Self.python)
        let client = try SimulatorClient(now: nil) { settings in
            settings.customers = 0
            settings.scenario = Self.scenario
        }
        let lines = try await client.whileListening { report in
            try await Self.judge(python, report: report)
        }
        #expect(lines.count == 32)
        for line in lines {
            let result = try #require(
                JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(result["ok"] as? Bool == true, "\(line)")
        }
    }

    private static func judge(_ python: String, report: SimulatorReport) async throws -> [String] {
        let judge = here.appendingPathComponent("PythonPeer/judge.py").path
        let (status, text) = try await ClientProcess.run(python, [judge], asking: report)
        #expect(status == 0, "\(text)")
        return text.split(separator: "\n").map(String.init)
    }
}
