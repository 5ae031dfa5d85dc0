"""What SARIF 2.1.0 demands of a log, as far as our logs go: sections of the OASIS standard beside each rule.

Stricter than the standard in two points: nothing is accepted that is not named here (the schema closes its objects
too), and what the standard merely recommends for locations and rules is demanded.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any
from urllib.parse import unquote, urlsplit

_LOG = {"$schema", "version", "runs"}
_RUN = {"tool", "results", "columnKind", "originalUriBaseIds"}
_DRIVER = {"name", "semanticVersion", "rules"}
_RULE = {"id", "name", "shortDescription", "fullDescription", "help", "defaultConfiguration"}
_RESULT = {"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"}
_REGION = {"startLine", "startColumn", "endLine", "endColumn"}
_LEVELS = {"none", "note", "warning", "error"}
_SEMANTIC_VERSION = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}([-+][0-9A-Za-z.+-]+)?")
# RFC 3986: what may stand in the path of a URI without being escaped; no colon, which would make a scheme of a folder.
_URI_PATH = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=@/-]|%[0-9A-Fa-f]{2})+")


def check_log(log: Any) -> None:
    """
    Raises:
        AssertionError: the log breaks a rule.
    """
    _only(log, _LOG, required=_LOG)
    assert log["version"] == "2.1.0"  # 3.13.2
    schema = urlsplit(log["$schema"])  # 3.13.3: absolute, of the schema of that version
    assert schema.scheme == "https"
    assert schema.path.endswith("sarif-schema-2.1.0.json")
    assert log["runs"]
    for run in log["runs"]:
        _check_run(run)


def _check_run(run: Any) -> None:
    _only(run, _RUN, required={"tool", "results"})
    _only(run["tool"], {"driver"}, required={"driver"})  # 3.18
    driver = run["tool"]["driver"]
    _only(driver, _DRIVER, required={"name"})  # 3.19
    _text(driver["name"])
    assert _SEMANTIC_VERSION.fullmatch(driver["semanticVersion"])  # 3.19.12
    rules = driver["rules"]
    for rule in rules:
        _check_rule(rule)
    ids = [rule["id"] for rule in rules]
    assert len(set(ids)) == len(ids)  # 3.19.23: an array of unique elements; 3.49.3: the identifier of one rule
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}  # 3.14.17
    bases = run["originalUriBaseIds"]  # 3.14.14
    for base in bases.values():
        _only(base, {"description", "uri"})
        if "uri" in base:
            assert base["uri"].endswith("/")
            assert "/../" not in base["uri"]
    fingerprints = set()
    for result in run["results"]:
        _check_result(result, ids, set(bases))
        fingerprints.add((result["ruleId"], *result["partialFingerprints"].values(), repr(result["locations"])))
    assert len(fingerprints) == len(run["results"])  # 3.27.17: one result is not told twice


def _check_rule(rule: Any) -> None:
    _only(rule, _RULE, required={"id", "shortDescription", "help"})
    _text(rule["id"])
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", rule["name"])  # 3.49.7: an identifier in Pascal case
    assert rule["name"][0].isupper()
    assert rule["name"] != rule["id"]
    for key in ("shortDescription", "fullDescription", "help"):  # 3.12: text is required in each
        _only(rule[key], {"text", "markdown"}, required={"text"})
        _text(rule[key]["text"])
    assert "\n" not in rule["shortDescription"]["text"]  # 3.49.9: a single sentence
    _only(rule["defaultConfiguration"], {"level"})
    assert rule["defaultConfiguration"]["level"] in _LEVELS


def _check_result(result: Any, ids: list[str], bases: set[str]) -> None:
    _only(result, _RESULT, required={"message", "ruleId", "ruleIndex", "locations"})
    assert isinstance(result["ruleIndex"], int)
    assert 0 <= result["ruleIndex"] < len(ids)
    assert ids[result["ruleIndex"]] == result["ruleId"]  # 3.27.5, 3.27.6: both name the same rule
    assert result["level"] in _LEVELS  # 3.27.10
    _only(result["message"], {"text"}, required={"text"})  # 3.11
    _text(result["message"]["text"])
    assert len(result["locations"]) == 1  # 3.27.12: several only for what has to be changed in each of them
    (location,) = result["locations"]
    _only(location, {"physicalLocation"}, required={"physicalLocation"})
    physical = location["physicalLocation"]
    _only(physical, {"artifactLocation", "region"}, required={"artifactLocation"})  # 3.29
    artifact = physical["artifactLocation"]
    _only(artifact, {"uri", "uriBaseId"}, required={"uri"})
    _check_uri(artifact["uri"])
    assert artifact["uriBaseId"] in bases  # 3.4.4
    _check_region(physical["region"])
    for key, value in result["partialFingerprints"].items():  # 3.27.17, 3.27.18: versioned, text
        assert re.fullmatch(r"[A-Za-z][\w.-]*/v\d+", key)
        _text(value)


def _check_uri(uri: str) -> None:
    """A relative reference (3.4.3, 3.10.1): escaped, with forward slashes, and inside of its base."""
    assert _URI_PATH.fullmatch(uri), uri
    split = urlsplit(uri)
    assert (split.scheme, split.netloc, split.query, split.fragment) == ("", "", "", "")
    assert not uri.startswith("/")
    assert "\\" not in unquote(uri)
    assert not {"", ".", ".."} & set(uri.split("/"))


def _check_region(region: Any) -> None:
    """Lines and columns from 1; the end stands behind the start, its column is exclusive (3.30.5 to 3.30.8)."""
    _only(region, _REGION, required={"startLine", "startColumn"})
    assert all(isinstance(value, int) and value >= 1 for value in region.values())
    assert ("endLine" in region) == ("endColumn" in region)
    if "endLine" in region:
        assert (region["endLine"], region["endColumn"]) > (region["startLine"], region["startColumn"])


def _only(value: Any, allowed: Set[str], *, required: Set[str] = frozenset()) -> None:
    assert isinstance(value, dict)
    assert set(value) <= allowed, set(value) - allowed
    assert required <= set(value), required - set(value)


def _text(value: Any) -> None:
    assert isinstance(value, str)
    assert value.strip()
