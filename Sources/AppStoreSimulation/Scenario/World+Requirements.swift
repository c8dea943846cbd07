/// The preconditions that actions have in common.
extension World {
    /// Requires a purchase that was not migrated and is the customer's own.
    func requireOwnPurchase(
        _ chain: Int, for action: ScriptedAction
    ) throws(SimulatorError) {
        guard !chains[chain].isReplaced else {
            throw .badOption("The purchase goes on under another id since it migrated.")
        }
        guard !isDeleted(chain: chain) else {
            throw .badOption("The account is deleted by then.")
        }
        if case .stopSharing = action { return }
        if case .finish = action { return }
        guard !chains[chain].isFamilyShared else {
            throw .badOption(
                "The purchase is shared by Family Sharing: only its purchaser can do that.")
        }
    }

    func require(
        _ chain: Int, in phases: [PurchaseChain.Phase], for what: String
    ) throws(SimulatorError) {
        let phase = chains[chain].phase
        guard !phases.contains(phase) else { return }
        guard phase != .single else {
            throw .badOption("\(what) is for subscriptions only.")
        }
        let wanted = phases.map { String($0.status) }.joined(separator: " or ")
        throw .badOption("\(what) needs the status \(wanted); it is \(phase.status) by then.")
    }

    func requireSameGroup(_ product: UInt16, as chain: Int) throws(SimulatorError) {
        let other = catalogue.products[Int(product)]
        guard let current = chains[chain].current, other.kind == .autoRenewable,
            catalogue.products[Int(current.product)].group == other.group
        else { throw .badOption("\"\(other.id)\" is in another subscription group.") }
    }

    func requireHigher(_ product: UInt16, than chain: Int) throws(SimulatorError) {
        try requireSameGroup(product, as: chain)
        let (mine, other) = levels(of: chain, and: product)
        guard other < mine else {
            throw .badOption(
                "\"\(catalogue.products[Int(product)].id)\" is not at a higher level of service.")
        }
    }

    /// The service levels of a chain's product and another one; 1 is the highest.
    func levels(of chain: Int, and product: UInt16) -> (mine: Int, other: Int) {
        let mine = chains[chain].current.map { catalogue.products[Int($0.product)].level } ?? 0
        return (mine, catalogue.products[Int(product)].level)
    }
}
