"""Retinue beside three frameworks that people would pick instead: `python -m bench.peers` measures all in one run.

Each peer lives in an environment of its own, made from the hashed locks in `requirements/` under `bench/out/`. What is
timed is the same small job: plain async functions fanned out and joined, no model, no network, no history. The
subjects take turns, round by round, so that whatever else the machine does hits all of them alike.
"""
