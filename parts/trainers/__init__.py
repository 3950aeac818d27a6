"""The trainers that serve a model of this memory: how they are asked, and watched."""
