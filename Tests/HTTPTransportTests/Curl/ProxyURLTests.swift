import HTTPTransport
import Testing

@Suite struct `A proxy address` {
    @Test func `never shows its credentials`() throws {
        let proxy = try ProxyURL("http://user:canary@proxy.internal:3128")
        var dumped = ""
        dump(proxy, to: &dumped)
        for text in ["\(proxy)", String(reflecting: proxy), dumped] {
            #expect(text.contains("proxy.internal:3128"))
            #expect(!text.contains("canary"))
            #expect(!text.contains("user"))
        }
    }

    @Test(arguments: ["", "proxy", "socks5://canary@h:1", "ftp://h", "http://", "http://a b:1"])
    func `is refused without being quoted`(text: String) {
        let error = #expect(throws: HTTPTransportError.self) { try ProxyURL(text) }
        #expect(error?.description.contains("canary") == false)
    }
}
