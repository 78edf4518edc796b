"""What may import what, and that every module and public function says what it is."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shuffledp

ROOT = Path(shuffledp.__file__).parent
# The contracts of import-linter, in pyproject.toml, hold folders to their order. What stands here they cannot
# say: what an interpreter has loaded in fact, by way of libraries too; that one module of a folder above,
# the constants of randomisers, is mathematics; and that ``checks`` rests on no other module.
HEAVY = {"torch", "matplotlib", "snakemake", "pydantic", "yaml"}
PURE = ["checks", "numerics", "distributions", "approximate_dp", "rdp", "convergence"]
# What users call, named in ``__all__``.
OFFERING = ["rdp", "approximate_dp", "convergence", "frequencies", "accountants"]
# What knows the registry, or files, settings and pictures; the mathematics knows none of it.
ABOVE = {
    "__main__",
    "accountants",
    "cli",
    "interop",
    "optional_packages",
    "randomizers",
    "records",
    "reproduction",
    "training",
}


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module):
    """The file or folder of the package to which a module belongs."""
    return module.split(".")[1] if "." in module else ""


SOURCES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}
PARTS = {part_of(module) for module in SOURCES}
MATHEMATICS = [module for module in SOURCES if part_of(module) and part_of(module) not in ABOVE]
LIBRARY = [*MATHEMATICS, *(module for module in SOURCES if part_of(module) == "accountants")]


def tree(module):
    return ast.parse(SOURCES[module].read_text(encoding="utf-8"))


def imported_by(module):
    """The full names of all that a source file imports, wherever in the file."""
    names = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def loaded_by(*modules):
    """All that a fresh interpreter has loaded once it has imported ``modules``."""
    script = f"import json, sys, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": str(ROOT.parent)},
    )
    return set(json.loads(done.stdout))


def own_parts(names):
    """The parts of the package that names are of; the constants of randomisers are mathematics."""
    constants = "shuffledp.randomizers.constants"
    others = {name for name in names if name.startswith("shuffledp.") and name != constants}
    if constants in names:
        others.discard("shuffledp.randomizers")  # which is loaded on the way to them, and holds nothing
    return {part_of(name) for name in others}


def test_few_modules_stand_beside_the_folders():
    beside = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
    assert len(beside) <= 5, "put it into the folder that it belongs to"


def test_the_tests_have_the_folders_of_the_package(root):
    """Each folder that holds modules has a twin that holds tests, and no other folder holds any."""
    unit = root / "tests/unit"
    tested = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    code = {path.parent.relative_to(ROOT) for path in SOURCES.values() if path.name != "__init__.py"}
    assert len(code) > 30
    assert code == tested


# A name with dots in double backquotes: a module of this package, or what one of its modules has.
NAMED = re.compile(r"``(?:shuffledp\.)?([a-z_0-9]+(?:\.[A-Za-z_0-9]+)+)``")


@pytest.mark.parametrize("module", SOURCES)
def test_what_a_docstring_names_exists(module):
    for name in NAMED.findall(SOURCES[module].read_text(encoding="utf-8")):
        parts = name.split(".")
        if f"shuffledp.{parts[0]}" not in SOURCES:  # of another package, or of a module beside this one
            continue
        known = next(
            size for size in range(len(parts), 0, -1) if ".".join(["shuffledp", *parts[:size]]) in SOURCES
        )
        place = SOURCES[".".join(["shuffledp", *parts[:known]])].read_text(encoding="utf-8")
        assert known == len(parts) or re.search(rf"\b{parts[known]}\b", place), name


def test_the_parts_of_the_package_are_found():
    assert {*PURE, "accountants"} <= PARTS


def test_importing_the_accountants_is_light():
    loaded = loaded_by("shuffledp.accountants")
    assert {"numpy", "scipy"} <= loaded
    assert not loaded & HEAVY
    assert not own_parts(loaded) & (ABOVE - {"accountants"})


def test_importing_the_pure_layer_leaves_the_rest_alone():
    loaded = loaded_by(*(f"shuffledp.{part}" for part in PURE))
    assert set(PURE) <= own_parts(loaded)
    assert not loaded & (HEAVY | {"pandas"})
    assert not own_parts(loaded) & ABOVE


def test_the_constants_of_randomisers_are_mathematics():
    module = "shuffledp.randomizers.constants"
    assert not tree("shuffledp.randomizers").body[1:], "the folder holds nothing but its docstring"
    assert own_parts(imported_by(module)) <= set(PURE)
    assert not loaded_by(module) & (HEAVY | {"pandas"})


@pytest.mark.parametrize(
    "name", ["experiment", "costs", "data.datasets", "data.population", "data.synthetic"]
)
def test_what_to_train_and_on_what_is_known_without_torch(name):
    assert "torch" not in loaded_by(f"shuffledp.training.{name}", "shuffledp.randomizers.registry")


@pytest.mark.parametrize("module", MATHEMATICS)
def test_the_mathematics_imports_nothing_above_it(module):
    # at the top of the file or inside a function alike
    imported = imported_by(module)
    assert not own_parts(imported) & ABOVE
    assert not {name.split(".")[0] for name in imported} & (HEAVY | {"pandas"})


def test_the_base_imports_nothing_beside_it():
    assert own_parts(imported_by("shuffledp.checks")) == set()
    assert all(
        own_parts(imported_by(module)) <= {"checks", "numerics"}
        for module in SOURCES
        if part_of(module) == "numerics"
    )


@pytest.mark.parametrize("module", SOURCES)
def test_every_source_file_says_what_it_is(module):
    docstring = ast.get_docstring(tree(module))
    assert docstring
    # the first sentence may run on, but it ends
    assert docstring.split("\n\n")[0].endswith((".", '."', ":")) or ">>>" in docstring


def public(module):
    """The functions and classes that a module defines, and the methods of the classes."""
    loaded = importlib.import_module(module)
    for name, member in vars(loaded).items():
        if name.startswith("_") or getattr(member, "__module__", None) != module:
            continue
        if inspect.isfunction(member) or inspect.isclass(member):
            yield name, member
        if inspect.isclass(member):
            for method, function in vars(member).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{name}.{method}", function


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(member, id=f"{module.removeprefix('shuffledp.')}:{name}")
        for module in LIBRARY
        for name, member in public(module)
    ],
)
def test_everything_public_is_documented(member):
    assert member.__doc__
    # what a dataclass or a named tuple has for a docstring if nobody wrote one
    assert not member.__doc__.startswith(f"{member.__name__}(")


def offered():
    """The functions that users call: what the packages export, and composition."""
    for part in (*OFFERING, "approximate_dp.composition"):
        loaded = importlib.import_module(f"shuffledp.{part}")
        names = getattr(loaded, "__all__", None) or [name for name, _ in public(loaded.__name__)]
        for name in names:
            if inspect.isfunction(getattr(loaded, name)):
                yield pytest.param(getattr(loaded, name), id=f"{part}:{name}")


@pytest.mark.parametrize("function", list(offered()))
def test_what_users_call_documents_arguments_and_errors(function):
    summary, _, rest = inspect.getdoc(function).partition("\n\n")
    assert summary.endswith(".")
    # one paragraph is enough for what explains itself; more than that comes in sections
    assert not rest or "Args:" in rest or "Raises:" in rest


@pytest.mark.parametrize("part", OFFERING)
def test_what_a_package_offers_exists(part):
    loaded = importlib.import_module(f"shuffledp.{part}")
    for name in loaded.__all__:
        assert hasattr(loaded, name)


def test_what_searches_for_roots_is_not_loaded_with_the_accountants():
    """It takes a third of what an import of the accountants takes; scipy loads it where it is first used."""
    code = "import sys, shuffledp.accountants; print('scipy.optimize' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
