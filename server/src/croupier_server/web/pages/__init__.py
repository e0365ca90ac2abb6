"""The pages, a module each: a context as a value, what loads it, and the routes to it."""
