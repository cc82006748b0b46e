"""What spec 004 asks of an agent behind `/tasks`: the requirements, the requests, the checks, and who breaks each."""
