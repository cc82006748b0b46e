"""The domains that come with the assistant, as extensions: one file each, found like anybody else's."""
