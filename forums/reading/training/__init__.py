"""Training of the learned reader on saved pages with checked truth, and its measurement on engines and sites left out."""
