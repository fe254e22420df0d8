"""Training the learned reader on saved pages with checked truth, and measuring it on engines and sites left out."""
