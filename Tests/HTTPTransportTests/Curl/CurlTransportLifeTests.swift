import HTTPTransport
import Synchronization
import TestSupport
import Testing

/// Cancellation and shutdown.
@Suite(.timeLimit(.minutes(10))) struct `A transport that is told to stop` {
    private static func outcome(
        of transport: CurlTransport, _ url: String
    ) async -> HTTPTransportError? {
        do throws(HTTPTransportError) {
            _ = try await transport.send(HTTPRequest(method: "GET", url: url))
            return nil
        } catch { return error }
    }

    @Test func `abandons the transfer of a cancelled task and closes its connection`()
        async throws
    {
        let (arrivals, arrival) = AsyncStream<String>.makeStream()
        let server = try LoopbackServer { connection in
            _ = connection.request()
            arrival.yield("request")
            connection.waitForEnd()
            arrival.yield("end")
        }
        let transport = try CurlTransport()
        let task = Task { await Self.outcome(of: transport, server.url) }
        var events = arrivals.makeAsyncIterator()
        #expect(await events.next() == "request")
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(await events.next() == "end")
    }

    @Test func `does not send for a task that is cancelled already`() async throws {
        let server = try LoopbackServer { $0.waitForEnd() }
        let transport = try CurlTransport()
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await Self.outcome(of: transport, server.url)
        }
        #expect(await task.value == .cancelled)
    }

    @Test func `fails what is in flight at shutdown, and what comes after`() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        let server = try LoopbackServer { connection in
            _ = connection.request()
            arrival.yield()
            connection.waitForEnd()
        }
        let transport = try CurlTransport()
        let tasks = (0..<3).map { _ in
            Task { await Self.outcome(of: transport, server.url) }
        }
        var events = arrivals.makeAsyncIterator()
        for _ in 0..<3 { await events.next() }
        await transport.shutdown()
        for task in tasks { #expect(await task.value == .cancelled) }
        #expect(await Self.outcome(of: transport, server.url) == .cancelled)
        await transport.shutdown()
    }

    @Test func `may be dropped without a shutdown, used or not`() async throws {
        let server = try LoopbackServer { connection in
            while connection.request() != nil { connection.respond("{}") }
        }
        for use in [true, false, true, false] {
            let transport = try CurlTransport()
            if use { #expect(await Self.outcome(of: transport, server.url) == nil) }
        }
    }

    @Test func `survives a storm of requests and cancellations`() async throws {
        let server = try LoopbackServer { connection in
            while connection.request() != nil { connection.respond("{}") }
        }
        let transport = try CurlTransport()
        let outcomes = await withTaskGroup(of: HTTPTransportError?.self) { group in
            for number in 0..<300 {
                group.addTask {
                    let task = Task { await Self.outcome(of: transport, server.url) }
                    if number.isMultiple(of: 3) { task.cancel() }
                    return await task.value
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 300)
        #expect(outcomes.allSatisfy { $0 == nil || $0 == .cancelled })
        #expect(outcomes.count { $0 == nil } >= 200)
    }
}
