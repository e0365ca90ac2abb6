"""The pages: what is on, standings, boards and replays in the browser."""
