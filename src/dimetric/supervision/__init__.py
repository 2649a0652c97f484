"""Side information: which samples are alike, and which are more alike than others."""
