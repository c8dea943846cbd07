extension LocalSubscription {
    /// What stands in a column, to be written down as what was there before: a change must be
    /// possible to take back to the letter.
    package func storedValue(of field: SubscriptionField) -> FieldValue {
        emptyTexts.contains(field) ? .text("") : value(of: field)
    }

    /// The value of a column; of one that cannot be read, what stands there.
    package func value(of field: SubscriptionField) -> FieldValue {
        if let shown = unreadable[field] { return .text(shown) }
        return field.definition.place.value(in: self)
    }
}
