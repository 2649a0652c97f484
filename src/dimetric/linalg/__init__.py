"""Linear algebra that the learners share: scatters, positive matrices, spectra."""
