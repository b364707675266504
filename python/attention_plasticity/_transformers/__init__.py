"""A transformers model as a source of queries and keys: capture, labels of heads, and what cache plans cost.

Nothing here decides what a dump holds: positions, buckets, files and labels are those of the module `_capture`. This
package runs the model and hands tensors over. torch and transformers are imported when they are first needed.
"""
