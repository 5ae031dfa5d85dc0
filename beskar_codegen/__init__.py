"""Static checks and code generation for Beskar Jobs handlers.

Four steps, in one direction, around one frozen model (:mod:`beskar_codegen.model`):

``read``      sources -> what they declare. Python's own parser, names resolved by meaning; user code is never imported.
``validate``  what they declare -> diagnostics, by the rule table of :mod:`beskar_jobs.handlers.rules`.
``plan``      valid handlers -> what goes into which file: descriptors, stubs, contract.
``emit``      a plan -> bytes. Same plan, same bytes.

Around them stand the settings, the cache, the files and the command; they decide nothing about code.
"""
