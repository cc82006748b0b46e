"""Where steps run."""
