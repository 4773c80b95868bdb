"""`python -m tools.release.vsix FILE`: the extension for VS Code as a file that editors install.

Such a file is a ZIP archive of the extension with two lists of its contents. `tsc` has compiled `tools/vscode/` before.
The same sources give the same bytes. Microsoft's packer would bring some hundred packages for signing and publishing.

The extension only calls `colonnade udf … --json` and shows what it finds. Its debug type starts debugpy's adapter with
`colonnade udf run --uncaught`, so a breakpoint needs no code of the extension. It has no dependencies at run time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import gmtime
from xml.sax.saxutils import escape, quoteattr

from .versions import current

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tools/vscode"
#: Keys of package.json that only its developers need.
FOR_DEVELOPERS = ("devDependencies", "scripts", "private")
CONTENT_TYPES = {
    ".js": "application/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".vsixmanifest": "text/xml",
}
MANIFEST = """\
<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={name} Version={version} Publisher={publisher}/>
    <DisplayName>{title}</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Tags>{tags}</Tags>
    <Categories>{categories}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <License>extension/LICENSE.txt</License>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def name() -> str:
    """The name of the file."""
    return f"colonnade-vscode-{current(ROOT)}.vsix"


def pack(target: Path, moment: int) -> None:
    """Writes the file. Its entries have the time `moment`, in seconds.

    Raises:
        FileNotFoundError: The extension is not compiled.
    """
    package = json.loads((SOURCE / "package.json").read_text())
    package["version"] = current(ROOT)
    for key in FOR_DEVELOPERS:
        package.pop(key, None)
    compiled = sorted((SOURCE / "out/src").glob("*.js"))
    sources = {path.stem for path in (SOURCE / "src").glob("*.ts")}
    if {path.stem for path in compiled} != sources:
        raise FileNotFoundError("tools/vscode/out is not what tsc makes of tools/vscode/src: run make vscode")
    entries = {
        "extension.vsixmanifest": manifest(package).encode(),
        "extension/package.json": (json.dumps(package, indent=2) + "\n").encode(),
        "extension/README.md": (SOURCE / "README.md").read_bytes(),
        "extension/LICENSE.txt": (ROOT / "LICENSE").read_bytes(),
        **{f"extension/media/{path.name}": path.read_bytes() for path in sorted((SOURCE / "media").iterdir())},
        **{f"extension/out/src/{path.name}": path.read_bytes() for path in compiled},
    }
    entries = {"[Content_Types].xml": content_types(entries).encode(), **entries}
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in entries.items():
            entry = zipfile.ZipInfo(path, gmtime(moment)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)


def manifest(package: Mapping[str, object]) -> str:
    """The description that editors read before they unpack the file."""
    categories, keywords, engines = package["categories"], package["keywords"], package["engines"]
    assert isinstance(categories, list) and isinstance(keywords, list) and isinstance(engines, dict)
    return MANIFEST.format(
        name=quoteattr(str(package["name"])),
        version=quoteattr(str(package["version"])),
        publisher=quoteattr(str(package["publisher"])),
        title=escape(str(package["displayName"])),
        description=escape(str(package["description"])),
        tags=escape(",".join(keywords)),
        categories=escape(",".join(categories)),
        engine=quoteattr(engines["vscode"]),
    )


def content_types(entries: Iterable[str]) -> str:
    """The media types of the entries, by the ends of their names."""
    ends = sorted({Path(path).suffix for path in entries})
    types = "".join(f'<Default Extension="{end}" ContentType="{CONTENT_TYPES[end]}"/>' for end in ends)
    space = "http://schemas.openxmlformats.org/package/2006/content-types"
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="{space}">{types}</Types>\n'


def main() -> int:
    """Packs the extension. Returns the exit status."""
    moment = int(subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT))
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist" / name()
    pack(target, moment)
    print(f"{target}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
