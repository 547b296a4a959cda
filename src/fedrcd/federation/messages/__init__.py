"""What coordinator and site say to each other: requests, replies, refusals, keys."""
