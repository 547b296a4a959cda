"""Where rows lie, if not in an array: a class each, all read as Arrow batches, as often as they are needed."""
