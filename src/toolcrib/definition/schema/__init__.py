"""JSON Schema: made from Python types, checked against values, and followed when a value is repaired."""
