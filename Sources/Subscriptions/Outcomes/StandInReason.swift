/// Why nothing is written to a subscription, nor is it inserted, while another row stands for it.
package enum StandInReason {
    package static let text = "a row stands under a later transaction's id of it"
}
