"""Tables and pictures made from stored numbers alone. Nothing here measures."""
