"""Tools of other libraries as toolcrib's, and toolcrib's as theirs.

Each module is for one library, which is imported only when it is used:

    from toolcrib.adapters.langchain import from_langchain, to_langchain
    from toolcrib.adapters.mcp import definitions_from_mcp, from_mcp, list_mcp, to_mcp_result, to_mcp_types
    from toolcrib.adapters.openai_agents import to_openai_agents
    from toolcrib.adapters.pydantic_ai import from_pydantic_ai, to_pydantic_ai
"""

from __future__ import annotations
