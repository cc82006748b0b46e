"""From the words of a goal to a plan by rules: who is meant, what is asked, which values it names."""
