"""LangGraph: a compiled graph whose one node is ``ToolNode``."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from benchmarks.peers import langchain_core


class Peer(langchain_core.Peer):
    """Messages in, messages out."""

    async def open(self) -> None:
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode(list(self.tools.values())))
        graph.set_entry_point("tools")
        graph.set_finish_point("tools")
        self.graph: Any = graph.compile()

    async def call(self, name: str, arguments: str) -> str:
        request = AIMessage(content="", tool_calls=[langchain_core.tool_call(name, arguments)])
        state = await self.graph.ainvoke({"messages": [request]})
        return str(state["messages"][-1].content)
