"""What a hub knows of its team, pure: who owns which namespace, and what its own agents hold at other hubs."""
