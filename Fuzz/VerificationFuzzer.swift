import Dispatch
import Foundation
import Synchronization
import TestSupport

/// One entry point of verification under libFuzzer; `jobs/fuzz` builds and runs it.
///
/// `FUZZ_ENTRY` names the entry point. The keys are new in every process, so the seeds are too: they
/// are written into the folder `FUZZ_SEEDS` before libFuzzer reads it.
private let entry: FuzzEntry = {
    let name = ProcessInfo.processInfo.environment["FUZZ_ENTRY"] ?? ""
    guard let entry = FuzzEntry(rawValue: name) else {
        let known = FuzzEntry.allCases.map(\.rawValue).joined(separator: ", ")
        print("FUZZ_ENTRY must be one of \(known)")
        exit(64)
    }
    return entry
}()

private let verification: FuzzedVerification = waiting {
    var vectors: [ConformanceVector] = []
    for file in ["verification.json", "adversarial.json", "api.json"] {
        vectors += try ConformanceVectors.load(file).filter { $0.text("category") != "size" }
    }
    return try await FuzzedVerification(vectors: vectors)
}

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeRawPointer, _ arguments: UnsafeRawPointer) -> CInt {
    guard let folder = ProcessInfo.processInfo.environment["FUZZ_SEEDS"] else { return 0 }
    for (number, seed) in verification.seeds(for: entry).enumerated() {
        let path = "\(folder)/seed-\(number)"
        guard FileManager.default.createFile(atPath: path, contents: Data(seed)) else {
            fatalError("cannot write \(path)")
        }
    }
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let fault = waiting { try await verification.fault(of: bytes, at: entry) }
    // libFuzzer keeps the input that led here.
    if let fault { fatalError(fault) }
    return 0
}

/// libFuzzer knows no asynchronous functions.
private func waiting<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
) -> Value {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Result<Value, any Error>?>(nil)
    Task.detached {
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        result.withLock { $0 = outcome }
        done.signal()
    }
    done.wait()
    guard case .success(let value) = result.withLock({ $0 }) else {
        fatalError("the fuzzed verification cannot be set up")
    }
    return value
}
