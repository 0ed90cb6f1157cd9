"""The description of the API is complete: every endpoint, every reference, every record."""

from __future__ import annotations

import json
import re

from nacre.rest.endpoints import PATH_NAME
from nacre.server.api import all_endpoints
from nacre.server.openapi import docs_page, openapi


def test_every_endpoint_is_described_with_its_parameters_and_role() -> None:
    paths = openapi()["paths"]
    for endpoint in all_endpoints():
        about = paths[endpoint.path][endpoint.verb.lower()]
        assert about["x-role"] == endpoint.role and about["summary"] and str(endpoint.status) in about["responses"]
        in_path = {each["name"] for each in about["parameters"] if each["in"] == "path"}
        assert in_path == set(PATH_NAME.findall(endpoint.path))
        body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        described = {each["name"] for each in about["parameters"]} | set(body.get("properties", {}))
        assert {each.name for each in endpoint.parameters} <= described
        assert ("Nacre-Expect" in described) == (not endpoint.reads)
        assert ("arguments" in described) == (endpoint.verb in ("GET", "DELETE") and bool(endpoint.parameters))
    ids = [about["operationId"] for each in paths.values() for about in each.values()]
    assert sum(ids.count(id) > 1 for id in ids) == 2  # the two ways to look for conflicts


def test_every_reference_leads_to_a_record() -> None:
    text = json.dumps(openapi())
    named = set(re.findall(r"#/components/schemas/(\w+)", text))
    assert named == set(openapi()["components"]["schemas"])
    memory = openapi()["components"]["schemas"]["Memory"]["properties"]
    assert {"id", "text", "version", "valid_from", "links"} <= memory.keys()
    new = openapi()["components"]["schemas"]["NewMemory"]
    assert new["required"] == ["text"] and {"id_prefix", "links", "metadata"} <= new["properties"].keys()


def test_the_page_names_every_address() -> None:
    page = docs_page()
    assert all(f"{each.verb} {each.path}" in page for each in all_endpoints())
    assert "<script" not in page
