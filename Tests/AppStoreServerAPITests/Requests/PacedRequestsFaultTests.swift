import AppStoreServerAPI
import HTTPTransport
import Testing

@Suite struct `A call over a bad line` {
    @Test(arguments: [
        HTTPTransportError.connectionFailed("x"), .timedOut("x"), .connectionLost("x"),
    ])
    func `is repeated`(error: HTTPTransportError) async {
        let bench = Bench { _, number throws(HTTPTransportError) in
            if number < 4 { throw error }
            return .answer(200)
        }
        #expect(await bench.ask().word == "answered {}")
        #expect(bench.calls("connection") == 3)
    }

    @Test func `is repeated at once and for nothing when a connection is lost`() async {
        let bench = Bench { _, number throws(HTTPTransportError) in
            if number == 1 { throw .connectionLost("GOAWAY") }
            return .answer(200)
        }
        #expect(await bench.ask().word == "answered {}")
        #expect(bench.clock.elapsed < .milliseconds(10))
    }

    @Test func `makes five attempts beside the free one`() async {
        let bench = Bench { _, _ throws(HTTPTransportError) in throw .connectionLost("reset") }
        #expect(await bench.ask().word == "unavailable reset (5 attempts)")
        #expect(bench.apple.requests.count == 6)
    }

    @Test func `loses nothing when a server retires its connection under many requests`() async {
        let bench = Bench { _, number throws(HTTPTransportError) in
            // One of twenty, at no even distance: as many requests in flight as lie between two losses
            // would have the same request lose each of its attempts.
            let place = UInt32(truncatingIfNeeded: number) &* 2_654_435_769
            if (place >> 16) % 20 == 0 { throw .connectionLost("GOAWAY") }
            return .answer(200)
        }
        let words = await bench.crowd(300).map(\.word)
        #expect(words.filter { $0 != "answered {}" } == [])
        #expect(bench.apple.requests.count > 300)
    }

    @Test func `is not repeated with a server that cannot be trusted`() async {
        let bench = Bench { _, _ throws(HTTPTransportError) in
            throw .untrustedServer("the certificate is not trusted")
        }
        #expect(await bench.ask().word == "unavailable the certificate is not trusted")
        #expect(
            await bench.ask().word
                == "unavailable subscription_statuses does not work, and this run has given it up:"
                + " the certificate is not trusted")
        #expect(bench.apple.requests.count == 1)
    }

    @Test(arguments: [
        HTTPTransportError.bodyTooLarge(limitBytes: 8), .malformedResponse("noise"),
    ])
    func `is undecodable when the answer cannot be held or read`(
        error: HTTPTransportError
    ) async {
        let bench = Bench { _, _ throws(HTTPTransportError) in throw error }
        #expect(await bench.ask().word == "undecodable \(error.description)")
        #expect(bench.apple.requests.count == 1)
    }

    @Test func `ends the run when it cannot be sent at all`() async {
        let bench = Bench { _, _ throws(HTTPTransportError) in
            throw .invalidRequest("the CA file x cannot be read")
        }
        #expect(await bench.ask().word == "misconfigured the CA file x cannot be read")
    }

    @Test func `keeps endpoints apart`() async {
        let bench = Bench { request, _ in
            request.headers.contains { $0.value == "gzip" } ? .answer(503, "") : .answer(200)
        }
        for _ in 0..<20 { _ = await bench.ask(.transactionHistory) }
        #expect(await bench.ask(.transactionHistory).word.hasPrefix("unavailable"))
        #expect(await bench.ask().word == "answered {}")
    }
}
