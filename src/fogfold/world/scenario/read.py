"""YAML text as plain values that remember where they stood: line and column of every key and value.

Scalars follow YAML 1.2 (its core schema): `no`, `off` and `yes` are words and never booleans, `1e9` is a number and
`12:30` is not. Duplicate keys, tags, merge keys and keys that are not text are faults; all are found in one pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

__all__ = ["SCALARS", "Document", "Path", "read_scalar", "read_yaml"]

Path = tuple[str | int, ...]
"""Where a value stands in a document: keys and positions from the top."""

_PREFIX = "tag:yaml.org,2002:"
_SIZE_LIMIT = 20_000
"""Values in one document; more come only from aliases that multiply."""

SCALARS: tuple[tuple[str, re.Pattern[str], list[str]], ...] = (
    (_PREFIX + "null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    (_PREFIX + "bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    (_PREFIX + "int", re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), list("-+0123456789")),
    (
        _PREFIX + "float",
        re.compile(
            r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
        ),
        list("-+0123456789."),
    ),
)
"""Tag, pattern and first signs of each kind of scalar that is not text (YAML 1.2, section 10.3.2)."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the scalars of YAML 1.2 in place of those of YAML 1.1."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own form


for _tag, _pattern, _first in SCALARS:
    _Loader.add_implicit_resolver(_tag, _pattern, _first)


@dataclass(frozen=True)
class Document:
    """A document that was read: its values, where they stood, and what is wrong with its form."""

    values: Any
    """The document as mappings, lists and scalars; None where there is none."""
    value_marks: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Line and column, both from 1, at which the value of a path starts."""
    key_marks: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Line and column, both from 1, of the key that leads to a path."""
    faults: tuple[tuple[int, int, str], ...] = ()
    """Line, column and sentence of each fault of form."""

    def mark(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Line and column of a path, or of the nearest thing above it that stands in the document."""
        for end in range(len(path), -1, -1):
            here = path[:end]
            if key and here in self.key_marks and end == len(path):
                return self.key_marks[here]
            if here in self.value_marks:
                return self.value_marks[here]
        return (1, 1)


def read_yaml(text: str) -> Document:
    """The one document of a YAML text. Faults of form are in the answer; nothing is raised for them."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = " ".join(part for part in (error.context, error.problem) if part)
        return Document(None, faults=((*place, f"this is not YAML: {problem}"),))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        sign = f"sign {ord(text[error.position]):#06x}"
        return Document(None, faults=((line, column, f"this is not YAML: {sign} is not allowed in a text"),))
    except RecursionError:
        return Document(None, faults=((1, 1, "lists or mappings lie in each other too deeply to be read"),))
    if node is None:
        return Document(None, faults=((1, 1, "the file is empty; give at least schema_version and name"),))
    walk = _Walk()
    values = walk.value(node, ())
    return Document(values, walk.value_marks, walk.key_marks, tuple(walk.faults))


def read_scalar(text: str) -> Any:
    """One value as YAML reads it: for overrides that come as words.

    >>> read_scalar("1e3"), read_scalar("off"), read_scalar("20110303")
    (1000.0, 'off', 20110303)
    """
    document = read_yaml(text)
    return text if document.faults else document.values


class _Walk:
    """One pass over the nodes of a document: values, marks and faults of form."""

    def __init__(self) -> None:
        self.value_marks: dict[Path, tuple[int, int]] = {}
        self.key_marks: dict[Path, tuple[int, int]] = {}
        self.faults: list[tuple[int, int, str]] = []
        self._above: list[yaml.Node] = []
        self._seen = 0

    def value(self, node: yaml.Node, path: Path) -> Any:
        self._seen += 1
        mark = _mark(node)
        self.value_marks[path] = mark
        if self._seen > _SIZE_LIMIT or any(node is other for other in self._above):
            if self._seen <= _SIZE_LIMIT + 1:
                self.faults.append((*mark, "an alias leads back into itself or multiplies without end; write it out"))
            return None
        self._above.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                self._untagged(node, "seq", mark)
                return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
            return self._scalar(node, mark)
        finally:
            self._above.pop()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        self._untagged(node, "map", _mark(node))
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            mark = _mark(key_node)
            key = key_node.value
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != _PREFIX + "str":
                shown = key if isinstance(key, str) else "a list or mapping"
                self.faults.append((*mark, f"key {shown!r} is not text; keys are words"))
                continue
            if key == "<<":
                self.faults.append((*mark, "merge keys (<<) are not used in scenarios; write the keys out"))
                continue
            if key in found:
                line = self.key_marks[(*path, key)][0]
                self.faults.append((*mark, f'key "{key}" is given twice, first in line {line}; keep one'))
                continue
            self.key_marks[(*path, key)] = mark
            found[key] = self.value(value_node, (*path, key))
        return found

    def _scalar(self, node: yaml.Node, mark: tuple[int, int]) -> Any:
        kind = node.tag.removeprefix(_PREFIX)
        text = str(node.value)
        if kind == "str":
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        number = _number(kind, text)
        if number is None:
            self.faults.append((*mark, f"tag {_shown(node.tag)} is not used in scenarios; remove it"))
        return number

    def _untagged(self, node: yaml.Node, kind: str, mark: tuple[int, int]) -> None:
        if node.tag != _PREFIX + kind:
            self.faults.append((*mark, f"tag {_shown(node.tag)} is not used in scenarios; remove it"))


def _number(kind: str, text: str) -> int | float | None:
    """The number that a scalar of that kind says; None for another kind, or an explicit tag on what is no number."""
    try:
        if kind == "int":
            return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
        if kind == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        pass
    return None


def _shown(tag: str) -> str:
    return tag.replace(_PREFIX, "!!")


def _mark(node: yaml.Node) -> tuple[int, int]:
    return (node.start_mark.line + 1, node.start_mark.column + 1)
