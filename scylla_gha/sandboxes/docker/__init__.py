"""The sandbox that runs each process in a fresh Docker container."""
