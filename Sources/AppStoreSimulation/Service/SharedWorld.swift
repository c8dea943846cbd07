import Synchronization

/// A world that all requests of one environment share.
final class SharedWorld: Sendable {
    let state: Mutex<World>

    init(_ world: consuming World) {
        state = Mutex(world)
    }
}
