"""The same work through toolcrib and through each peer, one small module a framework, none imported before its use.

A module has a class ``Peer``, whose methods `benchmarks.peers.base.Peer` describes. Its imports are those that the work
needs, so importing the module is what importing the framework costs.
"""
