"""The web as text: pages fetched behind a guard, and searches by whichever service is configured.

What comes from there is data with its origin marked. Neither tool speaks to the inner network, runs scripts, keeps
cookies or sends anything but the request it was asked for.
"""
