"""The console of a coordinator: who is there, who is invited, what runs, what was found."""
