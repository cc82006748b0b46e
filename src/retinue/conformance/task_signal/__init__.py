"""What spec 002 asks of an agent: the requirements, the requests, the checks, and an agent that breaks each."""
