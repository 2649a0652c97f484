"""LMNN's objective: target neighbours, impostors, margins, triplets, and proven bounds."""
