import AppStoreSimulation
import Foundation
import Testing

/// The HTML page on the control port.
@Suite struct `The page` {
    private func page(_ client: SimulatorClient) throws -> String {
        let answer = try client.control("GET", "/")
        #expect(answer.status == 200 && answer.raw.contentType == "text/html;charset=UTF-8")
        return String(decoding: answer.raw.body, as: UTF8.self)
    }

    @Test func `shows clock, counts, notifications and faults, and needs nothing else`() throws {
        let client = try SimulatorClient(customers: 60) {
            $0.faults = "faults: [{fault: unknown_status, count: 3}]"
        }
        _ = try client.get("/inApps/v1/subscriptions/420001000000000")
        let page = try page(client)
        #expect(page.contains("2026-11-20T03:00:00"))
        #expect(page.contains("<dd>60</dd>"))
        #expect(page.contains("active (status 1)"))
        #expect(page.contains("DID_RENEW"))
        #expect(
            page.contains("<td>unknown_status</td><td>1</td><td>1</td>")
                || page.contains("<td>unknown_status</td>\n<td>1</td>\n<td>1</td>"))
        for outside in ["<script", "src=", "href=", "url(", "@import"] {
            #expect(!page.contains(outside), "\(outside)")
        }
    }

    @Test func `escapes what clients send`() async throws {
        let client = try SimulatorClient(customers: 3, now: nil)
        let page = try await client.whileListening { report in
            // The path of a request and the name of a fault's rule come from outside.
            _ = try await CurlCommand.run([
                "--silent", "--cacert", report.tlsRootFile, "--path-as-is", "--globoff",
                report.endpoint + "/inApps/v1/<b>&\"'/x?a=<script>alert(1)</script>",
            ])
            return try await CurlCommand.run(["--silent", report.control + "/"]).output
        }
        #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
        #expect(page.contains("&lt;b&gt;&amp;"))
        #expect(!page.contains("<script") && !page.contains("<b>"))
        #expect(page.contains("https://127.0.0.1:"))
    }
}
