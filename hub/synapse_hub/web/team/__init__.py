"""Routes between hubs, and about the team: who is in it, who grants, what is carried and followed."""
