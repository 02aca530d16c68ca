"""A cluster and its days as a file: read, checked all at once, and built into a world's inputs."""
