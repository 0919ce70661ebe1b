"""Agent readiness of a code base: four graded tasks on the user's own code, with known answers made from it."""
