"""What may leave a site: sums over rows, and the cumulants a coordinator computes from them."""
