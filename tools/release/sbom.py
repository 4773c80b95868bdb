"""Lists of components (SBOM) in CycloneDX's format: the crates that are compiled into a library, with their versions,
licences, checksums and dependencies, as cargo resolves them for the wheels' platform. PEP 770 gives them a place."""

from __future__ import annotations

import json
import subprocess
import tomllib
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

#: Serial numbers are made from the contents, in this namespace.
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://github.com/colonnade-db/colonnade")


def sbom(root: Path, crate: str, target: str, moment: int) -> str:
    """The list for a crate of the workspace at `root`, as JSON. `moment` is its time in seconds since 1970.

    Raises:
        ValueError: The list does not follow CycloneDX's schema.
    """
    resolved = _metadata(root, target)
    packages = {package["id"]: package for package in resolved["packages"]}
    nodes = {node["id"]: node for node in resolved["resolve"]["nodes"]}
    top = next(identity for identity, package in packages.items() if package["name"] == crate)
    checksums = _checksums(root / "Cargo.lock")
    reached = {top: list(_needed(nodes[top]))}
    todo = [*reached[top]]
    while todo:
        identity = todo.pop()
        if identity not in reached:
            reached[identity] = list(_needed(nodes[identity]))
            todo += reached[identity]
    components = {identity: _component(packages[identity], checksums) for identity in reached}
    bom = Bom(components=[component for identity, component in components.items() if identity != top])
    bom.metadata.component = components[top]
    bom.metadata.timestamp = datetime.fromtimestamp(moment, UTC)
    for identity, needed in reached.items():
        bom.register_dependency(components[identity], [components[other] for other in needed])
    # A random number would make each build different.
    names = sorted(component.bom_ref.value or "" for component in components.values())
    bom.serial_number = uuid.uuid5(_NAMESPACE, "\n".join(names))
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    if errors := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise ValueError(f"the list of components for {crate} does not follow CycloneDX's schema: {errors}")
    return text


def _metadata(root: Path, target: str) -> dict[str, Any]:
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE).stdout)


def _needed(node: dict[str, Any]) -> Iterator[str]:
    """The crates that a crate is linked with. Those of builds and tests are not in the library."""
    for dependency in node["deps"]:
        if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
            yield dependency["pkg"]


def _checksums(lock: Path) -> dict[tuple[str, str], str]:
    packages = tomllib.loads(lock.read_text())["package"]
    return {(one["name"], one["version"]): one["checksum"] for one in packages if "checksum" in one}


def _component(package: dict[str, Any], checksums: dict[tuple[str, str], str]) -> Component:
    name, version = package["name"], package["version"]
    checksum = checksums.get((name, version))
    address = PackageURL("cargo", None, name, version)
    # Old crates write `MIT/Apache-2.0`.
    licence = (package["license"] or "").replace("/", " OR ")
    licences = [LicenseFactory().make_from_string(licence)] if licence else []
    references = (
        [ExternalReference(type=ExternalReferenceType.VCS, url=XsUri(package["repository"]))]
        if package["repository"]
        else []
    )
    return Component(
        type=ComponentType.LIBRARY,
        name=name,
        version=version,
        bom_ref=str(address),
        purl=address,
        description=package["description"],
        licenses=licences,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else [],
        external_references=references,
    )
