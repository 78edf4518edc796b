"""The files that say what the package needs, what it is called and where its parts lie agree."""

import ast
import re
import tomllib
from collections import Counter

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import shuffledp
from shuffledp import accountants, approximate_dp, rdp
from shuffledp.approximate_dp import composition
from shuffledp.checkin import balle2020

TOP_LEVEL = {
    "CHANGELOG.md",
    "CITATION.cff",
    "Dockerfile",
    "LICENSE",
    "Makefile",
    "README.md",
    "Snakefile",
    "config",
    "constraints.txt",
    "docs",
    "environment.yml",
    "figures",
    "profiles",
    "pyproject.toml",
    "results",
    "tests",
    "workflow",
}
CONDA = {"matplotlib": "matplotlib-base", "snakemake": "snakemake-minimal", "torch": "pytorch"}
MODULES = {"yaml": "pyyaml"}  # names of modules that are not their package's
TORCH = {"torch": "2.14.1", "torchvision": "0.29.1"}
LINUX = {"sys_platform": "linux", "platform_machine": "x86_64"}
# What would tie a file to one machine or one package index, and an example of each, in parts since this file
# is looked through too.
FOREIGN = [
    (re.compile(r"(?<![\w.*<>-])/(work|root|home|Users)/(?=[\w.])"), ("/", "home", "/", "me")),
    (re.compile(r"p[y]pi\.|p[y]thonhosted|an[a]conda\.(org|com)"), ("https://", "py", "pi.org/simple")),
    (re.compile(r"index-u[r]l|trusted-h[o]st|find-l[i]nks"), ("--extra-", "index-", "url")),
]
BINARY = (".png", ".pdf")
ELSEWHERE = [
    {"sys_platform": "darwin", "platform_machine": "arm64"},
    {"sys_platform": "linux", "platform_machine": "aarch64"},
]


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def extras(project):
    """The requirements of each extra; those of the package itself are under ""."""
    groups = {"": project["project"]["dependencies"], **project["project"]["optional-dependencies"]}
    return {name: [Requirement(line) for line in lines] for name, lines in groups.items()}


@pytest.fixture(scope="module")
def direct(extras):
    """Every requirement named in any extra, by canonical name, but for the package itself."""
    found = {}
    for requirement in (one for group in extras.values() for one in group):
        if requirement.name != "shuffledp":
            found[canonicalize_name(requirement.name)] = requirement
    return found


@pytest.fixture(scope="module")
def pins(root):
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def conda(root):
    return yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))


def version_of(requirement):
    """Return the version that a requirement pins."""
    (specifier,) = requirement.specifier
    assert specifier.operator == "==", f"{requirement} pins no version"
    assert "*" not in specifier.version
    return Version(specifier.version)


def holding(requirements, platform):
    """Return the requirements that hold on a platform, by canonical name."""
    environment = {**default_environment(), **platform}
    held = [one for one in requirements if one.marker is None or one.marker.evaluate(environment)]
    assert Counter(one.name for one in held).most_common(1)[0][1] == 1, "a name holds twice"
    return {canonicalize_name(one.name): one for one in held}


def test_constraints_pin_exact_versions_once_and_in_order(pins):
    names = [canonicalize_name(pin.name) for pin in pins]
    assert names == sorted(set(names))
    for pin in pins:
        assert version_of(pin)


def test_constraints_pin_every_direct_requirement_within_its_range(pins, direct):
    versions = {canonicalize_name(pin.name): version_of(pin) for pin in pins}
    assert len(direct) > 10
    for name, requirement in direct.items():
        assert name in versions, f"constraints.txt lacks {name}"
        assert versions[name] in requirement.specifier, requirement


def test_the_package_alone_brings_what_its_code_imports_and_no_more(root, extras):
    imported = set()
    sources = [*(root / "workflow/shuffledp").rglob("*.py")]
    # what these need is installed with them
    others = [root / "workflow/shuffledp" / folder for folder in ("interop", "reproduction", "training")]
    for source in [one for one in sources if not any(one.is_relative_to(folder) for folder in others)]:
        for node in ast.walk(ast.parse(source.read_bytes())):
            if isinstance(node, ast.Import):
                imported.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
    base = {canonicalize_name(one.name) for one in extras[""]}
    assert {"numpy", "scipy"} <= base <= {canonicalize_name(MODULES.get(name, name)) for name in imported}


def test_the_package_ships_its_types(root, project):
    assert (root / "workflow/shuffledp/py.typed").read_bytes() == b""
    assert "py.typed" in project["tool"]["setuptools"]["package-data"]["shuffledp"]
    assert project["tool"]["mypy"]["strict"] is True


def test_readme_says_what_the_package_alone_brings(readme, extras):
    (said,) = re.findall(r"brings the accountants alone \((.*?);", readme, re.DOTALL)
    named = {canonicalize_name(name) for name in re.split(r",\s+|\s+and\s+", said)}
    assert named == {canonicalize_name(one.name) for one in extras[""]}


def test_every_direct_requirement_has_an_oldest_version(direct):
    for requirement in direct.values():
        assert {">="} <= {specifier.operator for specifier in requirement.specifier}, requirement


def test_torch_is_pinned_where_there_are_builds_of_that_version(pins):
    there = holding(pins, LINUX)
    assert {name: str(version_of(there[name])) for name in TORCH} == TORCH


@pytest.mark.parametrize("platform", ELSEWHERE, ids=str)
def test_torch_is_free_elsewhere(pins, platform):
    assert not TORCH.keys() & holding(pins, platform).keys()


def test_conda_environment_has_what_figures_and_training_need(conda, extras):
    wanted = {
        CONDA.get(one.name, one.name): one.specifier
        for extra in ("", "figures", "workflow", "training", "scattering", "cluster")
        for one in extras[extra]
    }
    *named, by_pip = conda["dependencies"]
    assert by_pip["pip"] == [f"kymatio {wanted.pop('kymatio')}"], "all else is conda's own"
    assert [named[0].partition("=")[0], named[-1]] == ["python", "pip"]
    ranges = [entry.split(" ") for entry in named[1:-1]]
    assert [name for name, _ in ranges] == sorted(wanted)
    assert {name: SpecifierSet(accepted) for name, accepted in ranges} == wanted


def test_conda_environment_has_a_python_that_the_package_admits(conda, project):
    (python,) = (entry for entry in conda["dependencies"] if str(entry).startswith("python="))
    assert python.partition("=")[2] in SpecifierSet(project["project"]["requires-python"])


def test_dev_is_everything(extras):
    (dev,) = extras["dev"]
    assert dev.name == "shuffledp"
    assert dev.extras == extras.keys() - {"", "dev"}


def test_makefile_installs_extras_that_exist(root, extras):
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    lists = re.findall(r"EXTRAS := (\S+)", makefile)
    assert len(lists) == makefile.count("EXTRAS :="), "a list of extras has no spaces"
    assert lists
    for names in lists:
        assert set(names.split(",")) <= extras.keys()
    assert "torch" not in str(extras["figures"] + extras["workflow"]), "drawing never waits for torch"


def test_makefile_describes_every_target(root):
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    described = re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE)
    assert sorted(phony.split()) == sorted(described)


def test_python_of_the_makefile_is_that_of_the_package(root, project):
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    (minor,) = re.findall(r"version_info < \(3, (\d+)\)", makefile)
    assert project["project"]["requires-python"] == f">=3.{minor}"


def test_snakefile_admits_what_the_package_admits(root, direct):
    (oldest,) = re.findall(
        r'min_version\("(.*)"\)', (root / "workflow/Snakefile").read_text(encoding="utf-8")
    )
    assert f">={oldest}" in str(direct["snakemake"].specifier).split(",")


def test_pre_commit_runs_what_make_lint_runs(root):
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^lint: .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
    settings = yaml.safe_load((root / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook["entry"] for repository in settings["repos"] for hook in repository["hooks"]]
    assert hooks == commands


def test_image_installs_pinned_extras_that_exist(root, extras):
    text = (root / "Dockerfile").read_text(encoding="utf-8")
    (names,) = re.findall(r"^ARG EXTRAS=(\S+)$", text, re.MULTILINE)
    assert set(names.split(",")) <= extras.keys()
    assert "--constraint constraints.txt" in text


def test_recipe_for_conda_needs_what_the_package_needs(root, project, extras):
    recipe = (root / ".github/conda-recipe/meta.yaml").read_text(encoding="utf-8")
    assert f'set version = "{shuffledp.__version__}"' in recipe
    (needed,) = re.findall(r"^  run:\n((?:    - .*\n)+)", recipe, re.MULTILINE)
    named = {Requirement(line.removeprefix("    - ").replace(" ", "")) for line in needed.splitlines()}
    own = {Requirement(f"python{project['project']['requires-python']}"), *extras[""]}
    assert {str(one) for one in named} == {str(one) for one in own}


def test_continuous_integration_tries_the_versions_that_are_admitted(root, project):
    text = (root / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    versions = jobs["test"]["strategy"]["matrix"]["python"]
    assert all(version in SpecifierSet(project["project"]["requires-python"]) for version in versions)
    assert project["project"]["requires-python"] == f">={versions[0]}"
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"run: make (\S+)", text)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    assert {"test", "test-slow"} <= set(targets), "as README.md and docs/howto/figures.md say"


def test_version_is_the_same_everywhere(root):
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[?v?(\d\S*?)\]?(?:\s|$)", changes, re.MULTILINE)[1]
    assert Version(shuffledp.__version__)
    assert citation["version"] == newest == shuffledp.__version__


def test_licence_is_the_same_everywhere(root, project):
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["license"] == project["project"]["license"] == "MIT"
    assert (root / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")


def test_top_level_has_what_a_newcomer_expects_and_nothing_else(tracked):
    names = {name.partition("/")[0] for name in tracked}
    assert {name for name in names if not name.startswith(".")} == TOP_LEVEL


@pytest.mark.parametrize(("pattern", "parts"), FOREIGN, ids=["machine", "index", "option"])
def test_tracked_files_name_no_machine_and_no_package_index(root, working_files, pattern, parts):
    assert pattern.search(f"see {''.join(parts)} there"), "the pattern finds what it should"
    for name in working_files:
        if not name.endswith(BINARY):
            found = pattern.search((root / name).read_text(encoding="utf-8"))
            assert not found, f"{name}: {found[0]}"


def test_text_files_end_in_one_newline(root, working_files):
    for name in working_files:
        content = (root / name).read_bytes()
        if content and not name.endswith(BINARY):
            assert content.endswith(b"\n"), name
            assert b"\r" not in content, name


# What the README says of the package


@pytest.fixture(scope="module")
def readme(root):
    return (root / "README.md").read_text(encoding="utf-8")


def test_readme_links_lead_somewhere(root, readme):
    links = re.findall(r"\]\(([^)#]+)\)", readme)
    assert len(links) > 3
    for link in links:
        assert "://" in link or (root / link).exists(), link


def test_the_page_of_theorems_names_functions_and_accountants_that_exist(root):
    page = (root / "docs/papers.md").read_text(encoding="utf-8")
    modules = {"rdp": rdp, "approximate_dp": approximate_dp, "approximate_dp.composition": composition}
    modules |= {"checkin.balle2020": balle2020}
    named = re.findall(rf"`({'|'.join(map(re.escape, modules))})\.(\w+)`", page)
    assert len(named) > 14
    for module, function in named:
        assert hasattr(modules[module], function), f"{module}.{function}"
    for name in re.findall(r"accountants? `([\w-]+)`", page):
        assert accountants.get(name).name == name
    for link in re.findall(r"\]\(([^)#]+)\)", page):
        assert (root / "docs" / link).exists(), link


def test_readme_rounds_its_bounds_outwards(readme):
    low, high, theorem = map(
        float,
        re.findall(r"lies between ([\d.]+) and ([\d.]+),\s+where Theorem 1 .* says ([\d.]+)\. ", readme)[0],
    )
    setting = {"n": 1e6, "k": 1e3, "eps0": 2, "rounds": 1e5, "delta": 1e-8}
    bracket = accountants.bracket(**setting)
    assert 0.99 * bracket.lower < low <= bracket.lower
    for said, known in (
        (high, bracket.upper),
        (theorem, accountants.epsilon("girgis2021-upper", **setting)),
    ):
        assert known <= said < 1.01 * known


def test_readme_example_runs(readme, capsys):
    example = next(
        block for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "setting" in block
    )
    exec(compile(example, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert re.search(r"^ *1\.0402 +girgis2021-upper$", shown, re.MULTILINE)
    assert len(shown.splitlines()) == 1 + len(accountants.names("upper"))  # the bracket comes first


def test_readme_commands_name_what_exists(root, readme):
    targets = re.findall(r"^make ([a-z-]+)", readme, re.MULTILINE)
    assert targets
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
    for path in re.findall(r"--configfile (\S+)", readme):
        assert (root / path).is_file(), path


def test_readme_is_short(readme):
    assert readme.count("\n") <= 120
