"""One run of a method, whichever transport it goes over, and what it finds."""
