"""Federations of machines: what a site lets out, what a coordinator does about faults; Flower lives in `flower` alone."""
