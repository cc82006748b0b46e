"""One module and one file of requirements for each dialect that agents are judged by."""
