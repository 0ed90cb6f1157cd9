"""An agent with a long-term memory on a local model, with no key and no cloud: python examples/ollama_agent.py"""

from __future__ import annotations

import os

import openai
from agent_tools import _dispatch_tool as _dispatch_tool  # the same tools, whoever calls them
from openai_agent import chat

URL = os.environ.get("OLLAMA_URL", "http://localhost:11434/v1")
MODEL = os.environ.get("AGENT_MODEL", "qwen3")
NO_KEY = "none"  # Ollama asks for none, and the client insists on one


def client() -> openai.OpenAI:
    return openai.OpenAI(base_url=URL, api_key=NO_KEY)


def main() -> None:
    chat(client(), MODEL)


if __name__ == "__main__":
    main()
