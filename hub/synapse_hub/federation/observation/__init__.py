"""What peers' journals tell: followed, folded into a view that is shown, and never granted from. Spec: INV-MH-2."""
