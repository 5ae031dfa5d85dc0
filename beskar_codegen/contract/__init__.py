"""The contract: what job types promise to stored jobs, deployed clients and result readers, and what breaks it."""

from beskar_codegen.contract.changes import compare
from beskar_codegen.contract.lock import Contract, JobContract, contract_of, dump, line_of, load

__all__ = ["Contract", "JobContract", "compare", "contract_of", "dump", "line_of", "load"]
