"""Trains an adapter on pairs: presets, the run and its folder, preferences, merging and export."""
