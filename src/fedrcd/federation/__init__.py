"""Federations of machines: what a site lets out, what a coordinator does about faults; Flower is in `flower` alone."""
