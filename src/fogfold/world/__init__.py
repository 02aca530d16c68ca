"""How the world moves: the simulator. One pure step over arrays, in ticks of 30 s."""
