"""Hard inputs and the right outcome of each: ``python -m tests.cases FILE.jsonl …`` runs any file of these forms."""
