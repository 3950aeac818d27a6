"""The ways to a model, what a call may cost, and the hard stop; what is asked is the caller's business."""
