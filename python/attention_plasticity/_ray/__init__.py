"""Runs whose heads are measured on a Ray cluster.

Ray places, repeats and recovers the work; `engine` hands it the KV groups of a run and takes back what `worker` measured.
"""
