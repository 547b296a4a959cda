"""Rounds without a network: questions, sites that answer them, transports that pool, the driver."""
