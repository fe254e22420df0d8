"""Training of the learned reader on saved pages with checked records, and measurement of its
accuracy on forum software and sites that were left out of the training."""
