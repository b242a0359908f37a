"""What a change of facts and rules moves, and which part of it moved what."""
