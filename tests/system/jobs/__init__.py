"""Jobs on a real engine: moves, reshards, re-key runs and offboardings."""
